// SPDX-License-Identifier: GPL-2.0
/*
 * A function is added: a session is opened, and the lender describes the
 * function. Then a host bridge and a PCI domain of its own show it to the PCI
 * core, and it is started: it gets its driver. It is stopped: the PCI core
 * removes it from its driver. Then it is removed, and the session is closed.
 *
 * pci_rescan_remove_lock is not held. A hot-unplug of the NTB holds it while
 * the NTB's driver waits for this one. Instead, only this task sees the
 * function until it is complete, and it is the only one on its bus. Only this
 * task removes it: see borrow_hide_remove().
 */
#include <linux/idr.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "borrow.h"
#include "proto_check.h"

#define BORROW_DESCRIBE_MS	10000

/* PCI addresses as people and programs know them have 16 bits for it. */
#define BORROW_DOMAIN_MIN	0x1000
#define BORROW_DOMAIN_MAX	0xffff

static DEFINE_IDA(borrow_domains);

static int borrow_describe(struct smartio_device *sdev,
			   struct spci_describe_reply *d)
{
	struct spci_describe_req request = {
		.op = cpu_to_le16(SPCI_DESCRIBE),
		.version = cpu_to_le16(SPCI_VERSION),
	};
	size_t size = sizeof(*d);
	int ret;

	ret = smartio_call(sdev, &request, sizeof(request), d, &size,
			   BORROW_DESCRIBE_MS);
	if (!ret && !spci_reply_ok(d, size))
		ret = -EPROTO;
	return ret;
}

static void borrow_bars_put(struct borrow_function *f)
{
	while (f->bar_count)
		smartio_bar_resource_put(f->sdev, &f->bars[--f->bar_count]);
}

/*
 * Where this host finds the registers. The bus addresses are the lender's, with
 * an offset for each, so a 32-bit BAR may lie anywhere in this host's memory.
 */
static int borrow_bars(struct borrow_function *f,
		       const struct spci_describe_reply *d)
{
	struct resource *r;
	unsigned int i;
	int ret;

	for (i = 0; i < SPCI_BARS; i++) {
		if (!d->bars[i].size)
			continue;
		r = &f->bars[f->bar_count];
		r->name = dev_name(&f->sdev->dev);
		r->flags = IORESOURCE_MEM;
		ret = smartio_bar_resource(f->sdev, i,
					   le64_to_cpu(d->bars[i].size), r);
		if (ret) {
			dev_err(&f->sdev->dev,
				"registers of BAR %u can't be reached: %d\n", i,
				ret);
			borrow_bars_put(f);
			return ret;
		}
		f->bar_number[f->bar_count] = i;
		f->bar_bus[f->bar_count++] = le64_to_cpu(d->bars[i].bus);
	}
	return 0;
}

/* From the highest on: the PCI core would join neighbours, but only upwards. */
static void borrow_windows(struct borrow_function *f)
{
	unsigned int i, n, next = 0;
	u64 below = U64_MAX;

	for (n = 0; n < f->bar_count; n++) {
		u64 highest = 0;

		for (i = 0; i < f->bar_count; i++) {
			if (f->bars[i].start < below &&
			    f->bars[i].start >= highest) {
				highest = f->bars[i].start;
				next = i;
			}
		}
		below = highest;
		pci_add_resource_offset(&f->bridge->windows, &f->bars[next],
					f->bars[next].start - f->bar_bus[next]);
	}
}

static int borrow_show(struct borrow_function *f)
{
	struct pci_host_bridge *bridge = f->bridge;
	int ret;

	f->domain = ida_alloc_range(&borrow_domains, BORROW_DOMAIN_MIN,
				    BORROW_DOMAIN_MAX, GFP_KERNEL);
	if (f->domain < 0)
		return f->domain;
	f->sysdata.domain = f->domain;
	f->sysdata.node = dev_to_node(smartio_dma_device(f->sdev));
	bridge->dev.parent = &f->sdev->dev;
	bridge->sysdata = &f->sysdata;
	bridge->ops = &borrow_pci_ops;
	f->busn = (struct resource){
		.name = dev_name(&f->sdev->dev),
		.flags = IORESOURCE_BUS | IORESOURCE_PCI_FIXED,
	};
	pci_add_resource(&bridge->windows, &f->busn);
	borrow_windows(f);
	dev_set_msi_domain(&bridge->dev, f->irqs);
	WRITE_ONCE(f->seer, current);
	ret = pci_scan_root_bus_bridge(bridge);
	if (ret) {
		ida_free(&borrow_domains, f->domain);
		return ret;
	}
	f->bus = bridge->bus;
	pci_bus_claim_resources(f->bus);
	WRITE_ONCE(f->seer, NULL);
	return 0;
}

static int borrow_open(struct borrow_function *f,
		       const struct spci_describe_reply *d)
{
	unsigned int vectors = le16_to_cpu(d->vectors);
	int ret;

	borrow_config_init(f, d);
	ret = borrow_bars(f, d);
	if (ret)
		return ret;
	borrow_peer_add(f);
	ret = borrow_dma_init(f);
	if (ret)
		goto put_bars;
	ret = borrow_irq_init(f, vectors);
	if (ret)
		goto exit_dma;
	ret = borrow_show(f);
	if (ret)
		goto exit_irq;
	return 0;

exit_irq:
	borrow_irq_exit(f);
exit_dma:
	borrow_dma_exit(f);
put_bars:
	borrow_peer_del(f);
	borrow_bars_put(f);
	return ret;
}

/*
 * Without a driver yet. Returns 0 and the function, or what smartio_open() or the
 * lender said.
 */
int borrow_function_add(struct smartio_device *sdev,
			struct borrow_function **function)
{
	struct spci_describe_reply *d = kzalloc(sizeof(*d), GFP_KERNEL);
	struct pci_host_bridge *bridge = NULL;
	struct borrow_function *f;
	int ret;

	if (!d)
		return -ENOMEM;
	ret = smartio_open(sdev);
	if (ret)
		goto free;
	ret = borrow_describe(sdev, d);
	if (ret)
		goto close;
	ret = -ENOMEM;
	bridge = pci_alloc_host_bridge(sizeof(*f));
	if (!bridge)
		goto close;
	f = pci_host_bridge_priv(bridge);
	f->bridge = bridge;
	f->sdev = sdev;
	ret = borrow_open(f, d);
	if (ret)
		goto free_bridge;
	*function = f;
	kfree(d);
	return 0;

free_bridge:
	pci_free_host_bridge(bridge);
close:
	smartio_close(sdev);
free:
	kfree(d);
	return ret;
}

/* Its driver may come. The caller knows the function, so a loss is noticed. */
void borrow_function_start(struct borrow_function *f)
{
	pci_bus_add_devices(f->bus);
}

static int borrow_disconnect(struct pci_dev *pdev, void *data)
{
	pdev->error_state = pci_channel_io_perm_failure;
	return 0;
}

/*
 * The link or the session is lost: from now on its driver sees the function as
 * one that was pulled out. Does not wait for other work.
 */
void borrow_function_lose(struct borrow_function *f)
{
	borrow_config_lose(f);
	pci_walk_bus(f->bus, borrow_disconnect, NULL);
}

/*
 * But for vfio-pci, which driver_managed_dma marks. It hands an error on to
 * QEMU, and that stops the virtual machine for good. A stopped machine does not
 * unplug the function, and the removal of vfio-pci waits for that.
 *
 * pci_walk_bus() has the lock of all buses meanwhile. So this does without: a
 * driver may be removed already, and have the device's lock for long.
 */
static void borrow_report_loss(struct borrow_function *f)
{
	struct pci_dev *pdev = pci_get_slot(f->bus, PCI_DEVFN(0, 0));
	const struct pci_error_handlers *handlers;

	if (!pdev)
		return;
	device_lock(&pdev->dev);
	handlers = pdev->driver && !pdev->driver->driver_managed_dma ?
		   pdev->driver->err_handler : NULL;
	if (handlers && handlers->error_detected)
		handlers->error_detected(pdev, pci_channel_io_perm_failure);
	device_unlock(&pdev->dev);
	pci_dev_put(pdev);
}

/* Its driver is removed; if the function was lost, it learns that first. */
void borrow_function_stop(struct borrow_function *f)
{
	if (READ_ONCE(f->lost))
		borrow_report_loss(f);
	pci_stop_root_bus(f->bus);
}

/* It was stopped, and no other task loses it. */
void borrow_function_remove(struct borrow_function *f)
{
	struct smartio_device *sdev = f->sdev;
	struct pci_host_bridge *bridge = f->bridge;

	/* for who still has a reference, and so that no rescan finds it again */
	borrow_config_lose(f);
	pci_remove_root_bus(f->bus);
	borrow_dma_wait(f);
	borrow_irq_exit(f);
	borrow_peer_del(f);
	borrow_bars_put(f);
	/* this host writes to nothing of it any more */
	smartio_close(sdev);
	borrow_dma_exit(f);
	ida_free(&borrow_domains, f->domain);
	pci_free_host_bridge(bridge);
}

/* ---- what the PCI bus says of functions ---- */

/*
 * Its removal by sysfs would run beside that of a lost link, while its driver
 * is removed, and both would delete the device.
 */
static void borrow_hide_remove(struct pci_dev *pdev)
{
	const struct attribute attribute = { .name = "remove" };

	sysfs_remove_file(&pdev->dev.kobj, &attribute);
}

static int borrow_bus_notify(struct notifier_block *nb, unsigned long action,
			     void *data)
{
	struct borrow_function *f = borrow_of_device(data);

	if (!f)
		return NOTIFY_DONE;
	switch (action) {
	case BUS_NOTIFY_ADD_DEVICE:
		borrow_hide_remove(to_pci_dev(data));
		return notifier_from_errno(borrow_dma_added(f, data));
	case BUS_NOTIFY_BIND_DRIVER:
		borrow_dma_range(f, data);
		borrow_master(f, true);
		return NOTIFY_OK;
	case BUS_NOTIFY_BOUND_DRIVER:
		borrow_dma_bound(f, data);
		return NOTIFY_OK;
	case BUS_NOTIFY_DRIVER_NOT_BOUND:
		borrow_dma_bound(f, data);
		fallthrough;
	case BUS_NOTIFY_UNBOUND_DRIVER:
		borrow_master(f, false);
		return NOTIFY_OK;
	}
	return NOTIFY_DONE;
}

static struct notifier_block borrow_notifier = {
	.notifier_call = borrow_bus_notify,
	.priority = INT_MAX,
};

int __init borrow_functions_init(void)
{
	return bus_register_notifier(&pci_bus_type, &borrow_notifier);
}

void borrow_functions_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &borrow_notifier);
}
