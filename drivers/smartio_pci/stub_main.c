// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_pci_stub: takes a PCI function and lends it as it is. It binds to
 * nothing by itself:
 *
 *   echo smartio_pci_stub > /sys/bus/pci/devices/PCI/driver_override
 *   echo PCI > /sys/bus/pci/drivers/smartio_pci_stub/bind
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "config_table.h"
#include "stub.h"

static struct pci_driver stub_driver;

/* ---- what can't be lent ---- */

static int stub_check(struct stub *stub)
{
	struct pci_dev *pdev = stub->pdev;

	if (pdev->hdr_type != PCI_HEADER_TYPE_NORMAL) {
		pci_err(pdev, "a bridge can't be lent\n");
		return -EOPNOTSUPP;
	}
	if (pdev->class >> 8 == PCI_CLASS_BRIDGE_OTHER) {
		pci_err(pdev, "a bridge between hosts can't be lent\n");
		return -EOPNOTSUPP;
	}
	if (!pdev->reset_methods[0]) {
		pci_err(pdev, "there is no way to reset it: it can't be lent\n");
		return -EOPNOTSUPP;
	}
	/* its resets would be theirs, too, in sessions of other borrowers */
	if (pci_num_vf(pdev)) {
		pci_err(pdev, "it has virtual functions: it can't be lent\n");
		return -EBUSY;
	}
	return 0;
}

/*
 * The driver of a virtual function's physical one goes only after this one gave
 * the virtual function up, so that its session ends first.
 */
static int stub_depend(struct stub *stub)
{
	struct pci_dev *pdev = stub->pdev, *physfn = pci_physfn(pdev);

	if (!pdev->is_virtfn)
		return 0;
	if (!physfn->dev.driver ||
	    physfn->dev.driver == &stub_driver.driver) {
		pci_err(pdev, "no driver of this host has its physical function: it can't be lent\n");
		return -ENODEV;
	}
	if (device_link_add(&pdev->dev, &physfn->dev,
			    DL_FLAG_AUTOREMOVE_CONSUMER))
		return 0;
	pci_err(pdev, "can't be bound to its physical function\n");
	return -ENODEV;
}

/* ---- description for borrowers ---- */

static int stub_describe_bars(struct stub *stub)
{
	struct spci_bar *bars = stub->description->bars;
	struct pci_dev *pdev = stub->pdev;
	unsigned int i, found = 0;
	unsigned long flags;
	u32 bits;

	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		flags = pci_resource_flags(pdev, i);
		if (!(flags & IORESOURCE_MEM) || !pci_resource_len(pdev, i))
			continue;
		/* a borrower reaches whole pages */
		if (!PAGE_ALIGNED(pci_resource_start(pdev, i) |
				  pci_resource_len(pdev, i))) {
			pci_err(pdev, "BAR %u shares a page with other registers: it can't be lent\n",
				i);
			return -EOPNOTSUPP;
		}
		bits = (flags & IORESOURCE_MEM_64 ? SPCI_BAR_64 : 0) |
		       (flags & IORESOURCE_PREFETCH ? SPCI_BAR_PREFETCH : 0);
		bars[i].bus = cpu_to_le64(pci_bus_address(pdev, i));
		bars[i].size = cpu_to_le64(pci_resource_len(pdev, i));
		bars[i].flags = cpu_to_le32(bits);
		found++;
	}
	if (found)
		return 0;
	pci_err(pdev, "it has no registers in memory: it can't be lent\n");
	return -EOPNOTSUPP;
}

static int stub_describe_all(struct stub *stub)
{
	struct spci_describe_reply *d;
	struct pci_dev *pdev = stub->pdev;
	unsigned int i;
	__le32 *real;
	u32 value;
	int ret;

	stub->description = kzalloc(sizeof(*stub->description), GFP_KERNEL);
	if (!stub->description)
		return -ENOMEM;
	d = stub->description;
	d->version = cpu_to_le16(SPCI_VERSION);
	d->config_size = cpu_to_le16(pdev->cfg_size == SPCI_CONFIG_SIZE ?
				     SPCI_CONFIG_SIZE : 256);
	d->vectors = cpu_to_le16(stub->limits.vectors);
	ret = stub_describe_bars(stub);
	if (ret)
		return ret;
	real = kzalloc(SPCI_CONFIG_SIZE, GFP_KERNEL);
	if (!real)
		return -ENOMEM;
	for (i = 0; i < le16_to_cpu(d->config_size) / 4; i++) {
		pci_read_config_dword(pdev, 4 * i, &value);
		real[i] = cpu_to_le32(value);
	}
	/* a virtual function has none of its own */
	real[0] = cpu_to_le32(pdev->vendor | pdev->device << 16);
	spci_config_show((u8 *)real, le16_to_cpu(d->config_size), d->bars,
			 d->config);
	kfree(real);
	return 0;
}

/* ---- the PCI driver ---- */

static int stub_take(struct stub *stub)
{
	struct pci_dev *pdev = stub->pdev;
	int ret;

	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;
	ret = pci_request_mem_regions(pdev, KBUILD_MODNAME);
	if (ret)
		goto disable;
	/* for the windows of links, which the function reaches */
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		goto release;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	pci_clear_master(pdev);
	ret = -ENOMEM;
	pci_save_state(pdev);
	stub->saved = pci_store_saved_state(pdev);
	if (!stub->saved)
		goto release;
	ret = stub_irq_find(stub);
	if (ret == -EOPNOTSUPP)
		pci_err(pdev, "it has no interrupts by messages: it can't be lent\n");
	if (ret)
		goto put_irq;
	ret = stub_describe_all(stub);
	if (!ret)
		ret = stub_quiesce(stub);
	if (!ret)
		return 0;

put_irq:
	kfree(stub->description);
	stub_irq_put(stub);
	kfree(stub->saved);
release:
	pci_release_mem_regions(pdev);
disable:
	pci_disable_device(pdev);
	return ret;
}

static void stub_give_back(struct stub *stub)
{
	kfree(stub->description);
	stub_irq_put(stub);
	kfree(stub->saved);
	pci_release_mem_regions(stub->pdev);
	pci_disable_device(stub->pdev);
}

static int stub_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct stub *stub = kzalloc(sizeof(*stub), GFP_KERNEL);
	struct smartio_export *export;
	int ret;

	if (!stub)
		return -ENOMEM;
	stub->pdev = pdev;
	mutex_init(&stub->lock);
	spin_lock_init(&stub->show_lock);
	ret = stub_check(stub);
	if (!ret)
		ret = stub_depend(stub);
	if (ret)
		goto free;
	ret = stub_take(stub);
	if (ret)
		goto free;
	pci_set_drvdata(pdev, stub);
	export = smartio_lend(pdev, SPCI_SERVICE, &stub_lender_ops, stub,
			      THIS_MODULE, 0, 0);
	if (IS_ERR(export)) {
		ret = PTR_ERR(export);
		goto give_back;
	}
	stub->export = export;
	return 0;

give_back:
	stub_give_back(stub);
free:
	kfree(stub);
	return ret;
}

/* The session ends, and the function is reset, before this returns. */
static void stub_remove(struct pci_dev *pdev)
{
	struct stub *stub = pci_get_drvdata(pdev);
	bool reset;

	smartio_unlend(stub->export);
	/* if its link was reset, and the kernel gave it up, its BARs are not set */
	reset = stub->stopped || stub->unreset;
	stub->stopped = false;
	if (reset && stub_quiesce(stub) && pci_device_is_present(pdev))
		pci_warn(pdev, "not reset: it may hold addresses of its borrower\n");
	stub_give_back(stub);
	kfree(stub);
}

static void stub_shutdown(struct pci_dev *pdev)
{
	struct stub *stub = pci_get_drvdata(pdev);

	smartio_export_suspend(stub->export);
}

/* From outside, by sysfs for instance: the borrower loses the function. */
static void stub_reset_prepare(struct pci_dev *pdev)
{
	struct stub *stub = pci_get_drvdata(pdev);

	smartio_export_suspend(stub->export);
}

/* After an error that the kernel gave up on, this makes it usable again. */
static void stub_reset_done(struct pci_dev *pdev)
{
	struct stub *stub = pci_get_drvdata(pdev);

	stub->stopped = false;
	smartio_export_resume(stub->export);
}

/*
 * An error that AER or DPC reports (Documentation/PCI/pci-error-recovery.rst):
 * its session ends, the link is reset, and the function may be borrowed again.
 */
static pci_ers_result_t stub_error_detected(struct pci_dev *pdev,
					    pci_channel_state_t state)
{
	struct stub *stub = pci_get_drvdata(pdev);

	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	stub->stopped = true;
	smartio_export_suspend(stub->export);
	return state == pci_channel_io_perm_failure ?
	       PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t stub_slot_reset(struct pci_dev *pdev)
{
	struct stub *stub = pci_get_drvdata(pdev);
	int ret;

	/*
	 * The error is not fatal, but the driver of another function below the
	 * port has asked for it. Or it was reset from outside meanwhile.
	 */
	if (!stub->stopped) {
		stub->stopped = true;
		smartio_export_suspend(stub->export);
	}
	stub_restore(stub);
	ret = stub_quiesce(stub);
	return ret ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

/* After an error that asked for no reset no session ended, and none begins. */
static void stub_error_resume(struct pci_dev *pdev)
{
	struct stub *stub = pci_get_drvdata(pdev);

	if (stub->stopped)
		smartio_export_resume(stub->export);
	stub->stopped = false;
}

static const struct pci_error_handlers stub_err_handler = {
	.error_detected = stub_error_detected,
	.slot_reset = stub_slot_reset,
	.resume = stub_error_resume,
	.reset_prepare = stub_reset_prepare,
	.reset_done = stub_reset_done,
};

static int stub_pm_suspend(struct device *dev)
{
	dev_err(dev, "a lent function can't sleep: take it back first\n");
	return -EBUSY;
}

static DEFINE_SIMPLE_DEV_PM_OPS(stub_pm_ops, stub_pm_suspend, NULL);

static struct pci_driver stub_driver = {
	.name = KBUILD_MODNAME,
	.probe = stub_probe,
	.remove = stub_remove,
	.shutdown = stub_shutdown,
	.err_handler = &stub_err_handler,
	.driver.pm = pm_sleep_ptr(&stub_pm_ops),
};
module_pci_driver(stub_driver);

MODULE_DESCRIPTION("smartio: lends a PCI function");
MODULE_LICENSE("GPL");
