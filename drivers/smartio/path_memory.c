// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a driver and the lent device share, and the device's registers.
 */
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include <linux/string.h>

#include "path.h"

/**
 * smartio_dma_device() - the device for which memory has to be mapped
 * @sdev: the path
 *
 * If smartio_dma_scattered(), the lent device reaches memory that the DMA API
 * maps for it at smartio_to_device().
 *
 * Context: any.
 * Return: the device; constant.
 */
struct device *smartio_dma_device(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);

	return path->ops->dma_device(path);
}
EXPORT_SYMBOL_GPL(smartio_dma_device);

/**
 * smartio_dma_scattered() - whether the device reaches any mapped page
 * @sdev: the path
 *
 * Context: any.
 * Return: true; false: it reaches only what smartio_dma_alloc() gives, and
 * data has to be copied.
 */
bool smartio_dma_scattered(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);

	return path->ops->dma_scattered(path);
}
EXPORT_SYMBOL_GPL(smartio_dma_scattered);

/**
 * smartio_dma_alloc() - memory of this host that the device reaches
 * @sdev: the path
 * @size: bytes, rounded up to whole pages
 * @addr: for smartio_to_device()
 * @gfp: as for dma_alloc_coherent()
 *
 * Zeroed, coherent, page aligned. It stays valid over sessions and losses.
 *
 * Context: process, may sleep.
 * Return: where this CPU finds it, or NULL.
 */
void *smartio_dma_alloc(struct smartio_device *sdev, size_t size,
			dma_addr_t *addr, gfp_t gfp)
{
	struct smartio_path *path = to_path(sdev);

	if (!size)
		return NULL;
	return path->ops->dma_alloc(path, PAGE_ALIGN(size), addr, gfp);
}
EXPORT_SYMBOL_GPL(smartio_dma_alloc);

/**
 * smartio_dma_free() - give memory of smartio_dma_alloc() back
 * @sdev: the path
 * @size: as it was allocated
 * @cpu: its return value; NULL is ignored
 * @addr: the address that it filled in
 *
 * Context: process, may sleep.
 */
void smartio_dma_free(struct smartio_device *sdev, size_t size, void *cpu,
		      dma_addr_t addr)
{
	struct smartio_path *path = to_path(sdev);

	if (cpu)
		path->ops->dma_free(path, PAGE_ALIGN(size), cpu, addr);
}
EXPORT_SYMBOL_GPL(smartio_dma_free);

/**
 * smartio_segment_alloc() - memory shared with the device
 * @sdev: the path, with a session open
 * @size: bytes, rounded up to whole pages
 * @hint: who uses it: where it is placed
 * @segment: filled in; all zero after an error
 *
 * Memory beside the device ends with the session, its mapping here only with
 * smartio_segment_free(). Stores to it are lost, harmlessly, then, until the
 * driver calls smartio_close() or smartio_open(): from there on it must not be
 * written to.
 *
 * Context: process, may sleep for seconds.
 * Return: 0; -ENOLINK; -ENOMEM; -ENOSPC: more than the lender gives to one
 * session; -ERANGE: the link doesn't reach it; -ETIMEDOUT.
 */
int smartio_segment_alloc(struct smartio_device *sdev, size_t size,
			  enum smartio_hint hint,
			  struct smartio_segment *segment)
{
	struct smartio_path *path = to_path(sdev);
	u64 id = smartio_path_session(path);
	int ret;

	might_sleep();
	memset(segment, 0, sizeof(*segment));
	if (!size)
		return -EINVAL;
	if (!id)
		return -ENOLINK;
	segment->size = PAGE_ALIGN(size);
	segment->session = id;
	if (hint == SMARTIO_DEVICE_READS || sdev->local) {
		ret = path->ops->segment_alloc(path, id, segment);
		/* smartio_segment_free() must not give it back again */
		if (ret)
			memset(segment, 0, sizeof(*segment));
		return ret;
	}
	segment->cpu = path->ops->dma_alloc(path, segment->size, &segment->dma,
					   GFP_KERNEL);
	if (!segment->cpu)
		return -ENOMEM;
	segment->device_addr = smartio_to_device(sdev, segment->dma);
	return 0;
}
EXPORT_SYMBOL_GPL(smartio_segment_alloc);

/**
 * smartio_segment_free() - give a segment back
 * @sdev: the path; the session in which it was allocated may be over
 * @segment: from smartio_segment_alloc(); zeroed. One that is all zero is
 *	ignored.
 *
 * Context: process, may sleep for seconds.
 */
void smartio_segment_free(struct smartio_device *sdev,
			  struct smartio_segment *segment)
{
	struct smartio_path *path = to_path(sdev);

	if (segment->handle)
		path->ops->segment_free(path, segment);
	else if (segment->cpu)
		path->ops->dma_free(path, segment->size, segment->cpu,
				   segment->dma);
	memset(segment, 0, sizeof(*segment));
}
EXPORT_SYMBOL_GPL(smartio_segment_free);

/**
 * smartio_map_bar() - registers of the device, or memory on it
 * @sdev: the path, with a session open
 * @bar: number
 * @offset: in bytes
 * @size: bytes
 * @write_combining: for memory; not for registers
 *
 * Registers that the lender's half has not allowed are refused. The mapping may
 * be used after the session is over: stores are lost then. After the driver
 * has called smartio_close() or smartio_open(), there must be none.
 *
 * Context: process, may sleep for seconds.
 * Return: for smartio_unmap_bar(), or an ERR_PTR: -ENOLINK, -EACCES, -ENOMEM,
 * -ENOSPC or -ERANGE: the link can't reach it, -ETIMEDOUT.
 */
void __iomem *smartio_map_bar(struct smartio_device *sdev, unsigned int bar,
			      u64 offset, size_t size, bool write_combining)
{
	struct smartio_path *path = to_path(sdev);
	u64 id = smartio_path_session(path);

	might_sleep();
	if (!size)
		return IOMEM_ERR_PTR(-EINVAL);
	if (!id)
		return IOMEM_ERR_PTR(-ENOLINK);
	return path->ops->map_bar(path, id, bar, offset, size, write_combining);
}
EXPORT_SYMBOL_GPL(smartio_map_bar);

/**
 * smartio_unmap_bar() - end a mapping of smartio_map_bar()
 * @sdev: the path
 * @io: what that returned; NULL and errors are ignored
 *
 * Context: process, may sleep.
 */
void smartio_unmap_bar(struct smartio_device *sdev, void __iomem *io)
{
	struct smartio_path *path = to_path(sdev);

	if (!IS_ERR_OR_NULL((__force void *)io))
		path->ops->unmap_bar(path, io);
}
EXPORT_SYMBOL_GPL(smartio_unmap_bar);
