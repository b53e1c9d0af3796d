// SPDX-License-Identifier: GPL-2.0
/*
 * The lender's half: a PCI driver that takes any function that driver_override
 * gives it, and lends it. This host's CPU does the work in place of the device.
 * It finds out where a device address leads (this host's memory, or the window
 * of an NTB) and loads or stores there.
 *
 * In debugfs, smartio_echo/lender: sessions opened, closed, and now; requests.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/msi.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "smartio_echo.h"

#define ECHO_VECTORS	8

struct echo_lender {
	struct pci_dev *pdev;
	struct smartio_export *export;
	struct delayed_work suspend;
	unsigned int suspend_ms;
};

static atomic_t echo_opened;
static atomic_t echo_closed;
static atomic_t echo_requests;
static atomic_t echo_running;

static unsigned int refuse;
module_param(refuse, uint, 0644);
MODULE_PARM_DESC(refuse, "error number with which the lender refuses sessions; 0: none");

static int echo_open(struct smartio_session *session)
{
	int ret;

	if (refuse)
		return -(int)refuse;
	session->context = kzalloc(sizeof(u64), GFP_KERNEL);
	if (!session->context)
		return -ENOMEM;
	ret = smartio_session_allow_bar(session, 0, 0, ECHO_BAR_SIZE);
	if (ret) {
		kfree(session->context);
		return ret;
	}
	atomic_inc(&echo_opened);
	return 0;
}

static void echo_close(struct smartio_session *session)
{
	WARN_ON(!session->context);
	kfree(session->context);
	session->context = NULL;
	atomic_inc(&echo_closed);
}

/* Where in this host's address space a device address of the device leads. */
static phys_addr_t echo_phys(struct smartio_export *export, u64 device_addr)
{
	struct echo_lender *lender = smartio_export_context(export);
	struct iommu_domain *domain;

	domain = iommu_get_domain_for_dev(&lender->pdev->dev);
	if (!domain)
		return device_addr;
	return iommu_iova_to_phys(domain, device_addr);
}

static int echo_store(struct smartio_session *session,
		      const struct echo_request *request)
{
	u64 device_addr, done;
	phys_addr_t phys;
	int ret;

	ret = smartio_session_dma(session, request->a, request->size,
				  &device_addr);
	if (ret)
		return ret;
	for (done = 0; done < request->size;) {
		size_t part = min_t(u64, request->size - done,
				    PAGE_SIZE - offset_in_page(request->a + done));

		phys = echo_phys(session->export, device_addr + done);
		if (!phys)
			return -EFAULT;
		if (pfn_valid(PHYS_PFN(phys))) {
			memset(phys_to_virt(phys), request->c, part);
		} else {
			void __iomem *io = ioremap_wc(phys, part);

			if (!io)
				return -ENOMEM;
			memset_io(io, request->c, part);
			wmb();	/* out of the write-combining buffers */
			iounmap(io);
		}
		done += part;
	}
	return 0;
}

static int echo_sum(struct smartio_session *session,
		    const struct echo_request *request, u64 *sum)
{
	u64 device_addr, i;
	phys_addr_t phys;
	int ret;

	ret = smartio_session_segment(session, request->a, request->b,
				      request->size, &device_addr);
	if (ret)
		return ret;
	*sum = 0;
	for (i = 0; i < request->size; i++) {
		phys = echo_phys(session->export, device_addr + i);
		if (!pfn_valid(PHYS_PFN(phys))) {
			ret = -EFAULT;
			break;
		}
		*sum += READ_ONCE(*(u8 *)phys_to_virt(phys));
	}
	smartio_session_segment_put(session, request->a);
	return ret;
}

/* The message that is in the device's table for this vector. */
static int echo_raise(struct smartio_session *session, unsigned int vector)
{
	struct echo_lender *lender = smartio_export_context(session->export);
	struct msi_desc *desc;
	void __iomem *io;
	phys_addr_t phys;
	u64 addr;
	int irq;

	irq = pci_irq_vector(lender->pdev, vector);
	if (irq < 0)
		return irq;
	desc = irq_get_msi_desc(irq);
	addr = (u64)desc->msg.address_hi << 32 | desc->msg.address_lo;
	phys = echo_phys(session->export, addr);
	if (!phys || pfn_valid(PHYS_PFN(phys)))
		return -EFAULT;
	io = ioremap(phys, 4);
	if (!io)
		return -ENOMEM;
	writel(desc->msg.data, io);
	iounmap(io);
	return 0;
}

static int echo_invert(const struct echo_request *request, size_t size,
		       u8 *reply, size_t *reply_size)
{
	size_t i, bytes = size - sizeof(*request);

	if (bytes > *reply_size)
		return -EMSGSIZE;
	for (i = 0; i < bytes; i++)
		reply[i] = ~request->data[i];
	*reply_size = bytes;
	return 0;
}

static int echo_notify(struct smartio_session *session,
		       const struct echo_request *request, size_t size)
{
	size_t bytes = size - sizeof(*request);
	u8 *message = kvmalloc(bytes + 8, GFP_KERNEL);
	int ret = 0;
	u64 i;

	if (!message)
		return -ENOMEM;
	memcpy(message + 8, request->data, bytes);
	for (i = 0; i < request->a && !ret; i++) {
		memcpy(message, &i, 8);
		ret = smartio_session_notify(session, message, bytes + 8);
	}
	kvfree(message);
	return ret;
}

static int echo_answer(struct smartio_session *session,
		       const struct echo_request *request, size_t size,
		       void *reply, size_t *reply_size)
{
	struct echo_lender *lender = smartio_export_context(session->export);
	unsigned int vector;
	u64 value = 0;
	int ret = 0;

	switch (request->op) {
	case ECHO_INVERT:
		return echo_invert(request, size, reply, reply_size);
	case ECHO_SLEEP:
		msleep(request->a);
		break;
	case ECHO_NOTIFY:
		ret = echo_notify(session, request, size);
		break;
	case ECHO_STORE:
		ret = echo_store(session, request);
		break;
	case ECHO_SUM:
		ret = echo_sum(session, request, &value);
		break;
	case ECHO_SET_IRQ:
		ret = smartio_session_set_irq(session, request->a, request->c,
					      &vector);
		value = vector;
		break;
	case ECHO_RAISE:
		ret = echo_raise(session, request->a);
		break;
	case ECHO_CLEAR_IRQ:
		smartio_session_clear_irq(session, request->a);
		break;
	case ECHO_FAIL:
		ret = -(int)request->a;
		break;
	case ECHO_SUSPEND:
		lender->suspend_ms = request->a;
		schedule_delayed_work(&lender->suspend, HZ / 10);
		break;
	default:
		ret = -EINVAL;
	}
	if (!ret && *reply_size >= sizeof(value)) {
		memcpy(reply, &value, sizeof(value));
		*reply_size = sizeof(value);
	} else {
		*reply_size = 0;
	}
	return ret;
}

static int echo_request(struct smartio_session *session, const void *request,
			size_t size, void *reply, size_t *reply_size)
{
	int ret = -EINVAL;

	atomic_inc(&echo_running);
	atomic_inc(&echo_requests);
	if (size >= sizeof(struct echo_request))
		ret = echo_answer(session, request, size, reply, reply_size);
	WARN_ON(!session->context);
	atomic_dec(&echo_running);
	return ret;
}

static int echo_show(void *context, char *buf, size_t size)
{
	return scnprintf(buf, size, "opened %d closed %d\n",
			 atomic_read(&echo_opened), atomic_read(&echo_closed));
}

static const struct smartio_lender_ops echo_ops = {
	.open = echo_open,
	.close = echo_close,
	.request = echo_request,
	.show = echo_show,
};

static void echo_suspend_work(struct work_struct *work)
{
	struct echo_lender *lender = container_of(to_delayed_work(work),
						  struct echo_lender, suspend);

	smartio_export_suspend(lender->export);
	WARN_ON(atomic_read(&echo_opened) != atomic_read(&echo_closed));
	msleep(lender->suspend_ms);
	smartio_export_resume(lender->export);
}

static int echo_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct echo_lender *lender = kzalloc(sizeof(*lender), GFP_KERNEL);
	int ret, vectors;

	if (!lender)
		return -ENOMEM;
	lender->pdev = pdev;
	INIT_DELAYED_WORK(&lender->suspend, echo_suspend_work);
	pci_set_drvdata(pdev, lender);
	ret = pci_enable_device_mem(pdev);
	if (ret)
		goto free;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		goto disable;
	vectors = pci_alloc_irq_vectors(pdev, 1, ECHO_VECTORS, PCI_IRQ_MSIX);
	if (vectors < 0) {
		ret = vectors;
		goto disable;
	}
	pci_set_master(pdev);
	lender->export = smartio_lend(pdev, ECHO_SERVICE, &echo_ops, lender,
				      THIS_MODULE, 1, vectors - 1);
	ret = PTR_ERR_OR_ZERO(lender->export);
	if (ret)
		goto free_vectors;
	return 0;

free_vectors:
	pci_free_irq_vectors(pdev);
disable:
	pci_disable_device(pdev);
free:
	kfree(lender);
	return ret;
}

static void echo_remove(struct pci_dev *pdev)
{
	struct echo_lender *lender = pci_get_drvdata(pdev);

	cancel_delayed_work_sync(&lender->suspend);
	smartio_unlend(lender->export);
	pci_free_irq_vectors(pdev);
	pci_disable_device(pdev);
	kfree(lender);
}

static struct pci_driver echo_pci_driver = {
	.name = "smartio_echo",
	.probe = echo_probe,
	.remove = echo_remove,
};

static int echo_lender_show(struct seq_file *s, void *unused)
{
	int opened = atomic_read(&echo_opened);
	int closed = atomic_read(&echo_closed);

	seq_printf(s, "opened=%d closed=%d now=%d requests=%d running=%d\n",
		   opened, closed, opened - closed, atomic_read(&echo_requests),
		   atomic_read(&echo_running));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(echo_lender);

int __init echo_lender_init(void)
{
	debugfs_create_file("lender", 0400, echo_root, NULL,
			    &echo_lender_fops);
	return pci_register_driver(&echo_pci_driver);
}

void echo_lender_exit(void)
{
	pci_unregister_driver(&echo_pci_driver);
}
