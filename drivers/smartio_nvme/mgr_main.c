// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_nvme_mgr: takes an NVMe controller over, keeps its admin queue, and
 * grants its I/O queues to clients. It binds to nothing by itself:
 *
 *   echo smartio_nvme_mgr > /sys/bus/pci/devices/PCI/driver_override
 *   echo PCI > /sys/bus/pci/drivers/smartio_nvme_mgr/bind
 */
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "admin_identify.h"
#include "mgr.h"

/* Seconds that a reset from outside waits for one in progress. */
#define RESET_WAIT_S	30

static char *quirks;
module_param(quirks, charp, 0444);
MODULE_PARM_DESC(quirks,
		 "VENDOR:DEVICE:BITS,...: NVME_QUIRK_* bits that models need beside those that the driver nvme knows of");

/* Controllers that nvme-core or an open file still holds. */
static atomic_t mgr_count = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(mgr_gone);

static void mgr_free_ctrl(struct nvme_ctrl *ctrl)
{
	struct mgr *m = to_mgr(ctrl);

	mgr_resv_exit(m);
	kvfree(m->pairs);
	kfree(m->saved);
	kfree(m->id);
	kfree(m);
	if (atomic_dec_and_test(&mgr_count))
		wake_up_all(&mgr_gone);
}

/* ---- as nvme-core sees it ---- */

static int mgr_reg_read32(struct nvme_ctrl *ctrl, u32 offset, u32 *value)
{
	*value = readl(to_mgr(ctrl)->bar + offset);
	return 0;
}

static int mgr_reg_write32(struct nvme_ctrl *ctrl, u32 offset, u32 value)
{
	writel(value, to_mgr(ctrl)->bar + offset);
	return 0;
}

static int mgr_reg_read64(struct nvme_ctrl *ctrl, u32 offset, u64 *value)
{
	*value = lo_hi_readq(to_mgr(ctrl)->bar + offset);
	return 0;
}

static int mgr_get_address(struct nvme_ctrl *ctrl, char *buf, int size)
{
	return snprintf(buf, size, "%s\n", pci_name(to_mgr(ctrl)->pdev));
}

static void mgr_submit_async_event(struct nvme_ctrl *ctrl)
{
	mgr_adminq_submit_event(to_mgr(ctrl));
}

static const struct nvme_ctrl_ops mgr_ctrl_ops = {
	.name = "pcie",
	.module = THIS_MODULE,
	.reg_read32 = mgr_reg_read32,
	.reg_write32 = mgr_reg_write32,
	.reg_read64 = mgr_reg_read64,
	.free_ctrl = mgr_free_ctrl,
	.submit_async_event = mgr_submit_async_event,
	.get_address = mgr_get_address,
	SNVME_CORE_VIRT_BOUNDARY
};

/* ---- the PCI device ---- */

/**
 * struct mgr_quirk_query - the quirks that the stock driver has for a drive
 * @pdev: the drive
 * @quirks: NVME_QUIRK_*
 */
struct mgr_quirk_query {
	struct pci_dev *pdev;
	unsigned long quirks;
};

/* The bus keeps a driver that is being visited. */
static int mgr_quirks_of_driver(struct device_driver *driver, void *arg)
{
	struct mgr_quirk_query *query = arg;
	const struct pci_device_id *id;

	if (strcmp(driver->name, "nvme"))
		return 0;
	id = pci_match_id(to_pci_driver(driver)->id_table, query->pdev);
	if (id)
		query->quirks = id->driver_data;
	return 1;
}

static unsigned long mgr_quirks_by_parameter(struct pci_dev *pdev)
{
	unsigned int vendor, device;
	const char *at = quirks;
	unsigned long bits, all = 0;

	while (at && sscanf(at, "%x:%x:%li", &vendor, &device, &bits) == 3) {
		if (vendor == pdev->vendor && device == pdev->device)
			all |= bits;
		at = strchr(at, ',');
		if (at)
			at++;
	}
	if (at)
		pci_warn(pdev, "quirks: \"%s\" is not VENDOR:DEVICE:BITS\n", at);
	return all;
}

/*
 * The quirks of this model, for the manager and its clients: those in the table
 * of the running kernel's stock driver. The parameter adds to them.
 */
static unsigned long mgr_quirks(struct pci_dev *pdev)
{
	struct mgr_quirk_query query = { .pdev = pdev };

	if (!bus_for_each_drv(&pci_bus_type, NULL, &query,
			      mgr_quirks_of_driver))
		pci_info(pdev, "the driver nvme is not loaded: its quirks are not known\n");
	return query.quirks | mgr_quirks_by_parameter(pdev);
}

static int mgr_map_device(struct mgr *m, unsigned long model_quirks)
{
	unsigned int bits = model_quirks & NVME_QUIRK_DMA_ADDRESS_BITS_48 ? 48 :
									    64;
	struct pci_dev *pdev = m->pdev;
	int ret;

	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;
	ret = pci_request_mem_regions(pdev, KBUILD_MODNAME);
	if (ret)
		goto disable;
	m->bar = pci_ioremap_bar(pdev, 0);
	ret = -ENOMEM;
	if (!m->bar)
		goto release;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(bits));
	if (ret)
		goto unmap;
	dma_set_min_align_mask(&pdev->dev, NVME_CTRL_PAGE_SIZE - 1);
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	ret = -ENODEV;
	if (readl(m->bar + NVME_REG_CSTS) == ~0U)
		goto unmap;
	m->ctrl.cap = lo_hi_readq(m->bar + NVME_REG_CAP);
	m->db_stride = 4 << NVME_CAP_STRIDE(m->ctrl.cap);
	return 0;
unmap:
	iounmap(m->bar);
release:
	pci_release_mem_regions(pdev);
disable:
	pci_disable_device(pdev);
	return ret;
}

static void mgr_unmap_device(struct mgr *m)
{
	iounmap(m->bar);
	pci_release_mem_regions(m->pdev);
	pci_disable_device(m->pdev);
}

/*
 * Vector 0 is the admin queue's, the others are for clients. A model that needs
 * one vector for all queues has none for them: no two hosts can have the same.
 */
static int mgr_setup_irq(struct mgr *m)
{
	struct pci_dev *pdev = m->pdev;
	int count = pci_msix_vec_count(pdev);
	unsigned int types = PCI_IRQ_ALL_TYPES;
	int ret;

	if (m->ctrl.quirks & NVME_QUIRK_BROKEN_MSI)
		types &= ~PCI_IRQ_MSI;
	if (count > 0 && (m->ctrl.quirks & NVME_QUIRK_SINGLE_VECTOR)) {
		pci_info(pdev, "its model has one interrupt for all queues: clients can only poll\n");
		count = 1;
	}
	if (count > 0)
		ret = pci_alloc_irq_vectors(pdev, 1,
					    min(count, MGR_MAX_PAIRS + 1),
					    PCI_IRQ_MSIX);
	else
		ret = -ENODEV;
	if (ret < 0) {
		dev_info(&pdev->dev, "no MSI-X: clients can only poll\n");
		ret = pci_alloc_irq_vectors(pdev, 1, 1, types);
		if (ret < 0)
			return ret;
	}
	m->vectors = ret;
	ret = request_irq(pci_irq_vector(pdev, 0), mgr_adminq_irq, IRQF_SHARED,
			  KBUILD_MODNAME, m);
	if (ret)
		pci_free_irq_vectors(pdev);
	return ret;
}

static void mgr_free_irq(struct mgr *m)
{
	free_irq(pci_irq_vector(m->pdev, 0), m);
	pci_free_irq_vectors(m->pdev);
}

/* The subsystem that clients see. Some models have one name for all drives. */
static void mgr_describe(struct mgr *m)
{
	size_t length = strnlen(m->id->subnqn, sizeof(m->subnqn));

	if (!(m->model_quirks & NVME_QUIRK_IGNORE_DEV_SUBNQN) &&
	    length > 4 && length < sizeof(m->subnqn) &&
	    !strncmp(m->id->subnqn, "nqn.", 4))
		strscpy(m->subnqn, m->id->subnqn);
	else
		/* nvme-core gave this controller one: not that one. */
		snprintf(m->subnqn, sizeof(m->subnqn), "%.200s:smartio",
			 snvme_core_subnqn(&m->ctrl));
	m->mdts = admin_mdts(m->id->mdts, m->ctrl.cap, MGR_MAX_BYTES);
}

static struct mgr *mgr_alloc(struct pci_dev *pdev)
{
	struct mgr *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return NULL;
	m->pdev = pdev;
	/* No manager had this one before. */
	m->incarnation = ktime_get_real_seconds() << 20;
	init_waitqueue_head(&m->incarnation_wq);
	init_waitqueue_head(&m->aborts_wq);
	mutex_init(&m->suspend_lock);
	spin_lock_init(&m->exclusive_lock);
	mutex_init(&m->sessions_lock);
	spin_lock_init(&m->turns_lock);
	INIT_LIST_HEAD(&m->turns);
	INIT_LIST_HEAD(&m->sessions);
	INIT_LIST_HEAD(&m->vctrls);
	mgr_init_works(m);
	m->id = kzalloc(sizeof(*m->id), GFP_KERNEL);
	m->wq = alloc_workqueue("%s", WQ_MEM_RECLAIM | WQ_UNBOUND, 0,
				KBUILD_MODNAME);
	m->note_wq = alloc_workqueue("%s_notes", WQ_MEM_RECLAIM | WQ_UNBOUND, 0,
				     KBUILD_MODNAME);
	if (m->id && m->wq && m->note_wq && !mgr_resv_init(m)) {
		if (!mgr_pairs_setup(m))
			return m;
		mgr_resv_stop(m);
	}
	if (m->note_wq)
		destroy_workqueue(m->note_wq);
	if (m->wq)
		destroy_workqueue(m->wq);
	kfree(m->id);
	kfree(m);
	return NULL;
}

/* The controller, which the firmware may have left running, up to LIVE. */
static int mgr_bring_up(struct mgr *m)
{
	struct nvme_ctrl *ctrl = &m->ctrl;
	int ret;

	ret = nvme_disable_ctrl(ctrl, false);
	if (ret)
		return ret;
	ret = mgr_cmb_setup(m);
	if (ret)
		return ret;
	nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING);
	ret = mgr_start(m);
	if (ret)
		return ret;
	mgr_describe(m);
	dev_info(ctrl->device,
		 "%u I/O queue pairs and %u interrupts for clients, incarnation %#llx\n",
		 m->nr_pairs, m->vectors - 1, m->incarnation);
	return 0;
}

/*
 * The controller off for good. The reverse of mgr_bring_up() and of the tag
 * set: from DELETING on nvme-core keeps all others off the admin queue.
 */
static void mgr_take_down(struct mgr *m)
{
	struct nvme_ctrl *ctrl = &m->ctrl;
	bool present;

	nvme_change_ctrl_state(ctrl, NVME_CTRL_DELETING);
	cancel_delayed_work_sync(&m->retry_work);
	flush_work(&ctrl->reset_work);
	cancel_delayed_work_sync(&m->retry_work);
	nvme_stop_ctrl(ctrl);
	nvme_remove_namespaces(ctrl);
	nvme_quiesce_admin_queue(ctrl);
	mgr_adminq_close(m);
	present = pci_device_is_present(m->pdev);
	if (!present || nvme_disable_ctrl(ctrl, true))
		pci_clear_master(m->pdev);
	if (present)
		nvme_disable_ctrl(ctrl, false);
	mgr_adminq_drain(m);
	/* one may have come after nvme_stop_ctrl() */
	snvme_core_flush_events(ctrl);
	nvme_cancel_admin_tagset(ctrl);
	mgr_revoke(m);
	nvme_unquiesce_admin_queue(ctrl);
	cancel_work_sync(&m->event_work);
	cancel_work_sync(&m->exclusive_work);
	nvme_remove_admin_tag_set(ctrl);
	mgr_cmb_free(m);
}

static int mgr_export(struct mgr *m)
{
	struct smartio_export *export;

	/* Clients may come at once; a reset waits, and ends their sessions. */
	mutex_lock(&m->suspend_lock);
	export = smartio_lend(m->pdev, SNVME_SERVICE, &mgr_lender_ops, m,
			      THIS_MODULE, 1, m->vectors - 1);
	if (!IS_ERR(export)) {
		m->export = export;
		if (m->suspended)
			smartio_export_suspend(export);
	}
	mutex_unlock(&m->suspend_lock);
	return PTR_ERR_OR_ZERO(export);
}

static void mgr_unexport(struct mgr *m)
{
	struct smartio_export *export;

	/* While it counts as exported: a reset in the middle waits for them. */
	mgr_suspend(m, MGR_SUSPEND_SHUTDOWN);
	mutex_lock(&m->suspend_lock);
	export = m->export;
	m->export = NULL;
	mutex_unlock(&m->suspend_lock);
	/* Resets continue meanwhile: sessions may need one to end. */
	if (export)
		smartio_unlend(export);
}

static int mgr_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	unsigned long model_quirks = mgr_quirks(pdev);
	struct nvme_ctrl *ctrl;
	struct mgr *m;
	int ret;

	/* nvme-core knows entries of 64 bytes, the stock driver others */
	if (model_quirks &
	    (NVME_QUIRK_128_BYTES_SQES | NVME_QUIRK_SHARED_TAGS)) {
		pci_err(pdev, "its queues are not those of the specification: it can't be shared\n");
		return -EOPNOTSUPP;
	}
	m = mgr_alloc(pdev);
	if (!m)
		return -ENOMEM;
	ctrl = &m->ctrl;
	m->model_quirks = model_quirks;
	ret = mgr_map_device(m, model_quirks);
	if (ret)
		goto free;
	ret = mgr_adminq_alloc(m);
	if (ret)
		goto unmap;
	/* A subsystem of its own, apart from the drive's and its clients'. */
	ret = nvme_init_ctrl(ctrl, &pdev->dev, &mgr_ctrl_ops,
			     model_quirks | NVME_QUIRK_IGNORE_DEV_SUBNQN);
	if (ret)
		goto free_queue;
	atomic_inc(&mgr_count);
	ret = nvme_add_ctrl(ctrl);
	if (ret)
		goto put;
	ret = mgr_adminq_alloc_tags(m);
	if (ret)
		goto uninit;
	ret = mgr_setup_irq(m);
	if (ret)
		goto remove_tags;
	pci_set_drvdata(pdev, m);
	ret = mgr_bring_up(m);
	if (ret)
		goto take_down;
	pci_save_state(pdev);
	m->saved = pci_store_saved_state(pdev);
	ret = m->saved ? mgr_resv_load(m) : -ENOMEM;
	if (!ret)
		ret = mgr_export(m);
	if (ret)
		goto take_down;
	queue_delayed_work(m->wq, &m->watch_work, HZ);
	return 0;

take_down:
	dev_err(&pdev->dev, "not taken over: %d\n", ret);
	pci_set_drvdata(pdev, NULL);
	mgr_take_down(m);
	mgr_free_irq(m);
	goto uninit;
remove_tags:
	nvme_remove_admin_tag_set(ctrl);
uninit:
	nvme_uninit_ctrl(ctrl);
put:
	mgr_adminq_free(m);
	mgr_unmap_device(m);
	mgr_resv_stop(m);
	destroy_workqueue(m->note_wq);
	destroy_workqueue(m->wq);
	nvme_put_ctrl(ctrl);
	return ret < 0 ? ret : -EIO;

free_queue:
	mgr_adminq_free(m);
unmap:
	mgr_unmap_device(m);
free:
	mgr_resv_stop(m);
	destroy_workqueue(m->note_wq);
	destroy_workqueue(m->wq);
	kvfree(m->pairs);
	kfree(m->id);
	kfree(m);
	return ret;
}

/* `smartioctl unlend` asks before; rmmod and sysfs do not. */
static void mgr_report_users(struct mgr *m)
{
	struct mgr_session *session;

	mutex_lock(&m->sessions_lock);
	list_for_each_entry(session, &m->sessions, entry)
		dev_notice(m->ctrl.device, "taken back while %s uses it\n",
			   session->s->host_name);
	mutex_unlock(&m->sessions_lock);
}

static void mgr_remove(struct pci_dev *pdev)
{
	struct mgr *m = pci_get_drvdata(pdev);
	struct nvme_ctrl *ctrl = &m->ctrl;

	/* A removed drive ends no queue: the reset that fails does. */
	if (!pci_device_is_present(pdev))
		nvme_reset_ctrl(ctrl);
	mgr_report_users(m);
	mgr_unexport(m);
	mgr_resv_stop(m);
	cancel_delayed_work_sync(&m->watch_work);
	mgr_take_down(m);
	mgr_free_irq(m);
	mgr_vctrls_free(m);
	nvme_uninit_ctrl(ctrl);
	mgr_adminq_free(m);
	mgr_unmap_device(m);
	destroy_workqueue(m->note_wq);
	destroy_workqueue(m->wq);
	nvme_put_ctrl(ctrl);
}

/* The machine shuts down: clients first, then the controller's cache. */
static void mgr_shutdown(struct pci_dev *pdev)
{
	struct mgr *m = pci_get_drvdata(pdev);
	struct nvme_ctrl *ctrl = &m->ctrl;

	cancel_delayed_work_sync(&m->watch_work);
	mgr_suspend(m, MGR_SUSPEND_SHUTDOWN);
	nvme_change_ctrl_state(ctrl, NVME_CTRL_DELETING);
	cancel_delayed_work_sync(&m->retry_work);
	flush_work(&ctrl->reset_work);
	cancel_delayed_work_sync(&m->retry_work);
	nvme_quiesce_admin_queue(ctrl);
	mgr_adminq_close(m);
	if (!pci_device_is_present(pdev))
		return;
	nvme_disable_ctrl(ctrl, true);
	pci_clear_master(pdev);
}

/*
 * Stops the controller before a reset from outside. One of ours in progress
 * ends first; if it fails, it is tried again later, and clients stay away.
 * Returns whether the controller is RESETTING, for this reset.
 */
static bool mgr_stop_for_reset(struct mgr *m)
{
	struct nvme_ctrl *ctrl = &m->ctrl;
	long ret = snvme_core_wait_state(ctrl,
					 nvme_change_ctrl_state(ctrl,
								NVME_CTRL_RESETTING),
					 RESET_WAIT_S * HZ);

	if (ret)
		mgr_stop(m);
	else
		dev_warn(ctrl->device, "reset from outside while %s\n",
			 nvme_state_terminal(ctrl) ? "it goes away" :
						     "another one fails");
	return ret;
}

/* A function level reset by sysfs, for instance: it is one of ours, too. */
static void mgr_reset_prepare(struct pci_dev *pdev)
{
	mgr_stop_for_reset(pci_get_drvdata(pdev));
}

static void mgr_reset_done(struct pci_dev *pdev)
{
	struct mgr *m = pci_get_drvdata(pdev);

	if (!nvme_try_sched_reset(&m->ctrl))
		flush_work(&m->ctrl.reset_work);
}

/*
 * An error on the path to the device (AER, DPC). After a fatal one the port
 * above resets its link, and the controller loses its registers. They are
 * written again, as after any reset. Clients' sessions end, and begin again.
 */
static pci_ers_result_t mgr_error_detected(struct pci_dev *pdev,
					   pci_channel_state_t state)
{
	struct mgr *m = pci_get_drvdata(pdev);

	switch (state) {
	case pci_channel_io_normal:
		return PCI_ERS_RESULT_CAN_RECOVER;
	case pci_channel_io_frozen:
		dev_warn(m->ctrl.device,
			 "fatal PCIe error: clients suspended, the link is reset\n");
		mgr_link_fails(m);
		return PCI_ERS_RESULT_NEED_RESET;
	default:
		dev_err(m->ctrl.device, "fatal PCIe error: the kernel gave the device up\n");
		return PCI_ERS_RESULT_DISCONNECT;
	}
}

static pci_ers_result_t mgr_slot_reset(struct pci_dev *pdev)
{
	if (!pci_device_is_present(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	mgr_link_reset(pci_get_drvdata(pdev));
	return PCI_ERS_RESULT_RECOVERED;
}

static void mgr_error_resume(struct pci_dev *pdev)
{
	struct mgr *m = pci_get_drvdata(pdev);

	flush_delayed_work(&m->retry_work);
	flush_work(&m->ctrl.reset_work);
}

static const struct pci_error_handlers mgr_err_handler = {
	.error_detected = mgr_error_detected,
	.slot_reset = mgr_slot_reset,
	.resume = mgr_error_resume,
	.reset_prepare = mgr_reset_prepare,
	.reset_done = mgr_reset_done,
};

/* Borrowers would hang on a sleeping lender. */
static int mgr_pm_suspend(struct device *dev)
{
	dev_err(dev, "an exported controller can't sleep: unbind it first\n");
	return -EBUSY;
}

static DEFINE_SIMPLE_DEV_PM_OPS(mgr_pm_ops, mgr_pm_suspend, NULL);

#define MGR_ATTR(_name, _format, _value)				\
static ssize_t _name##_show(struct device *dev,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	struct mgr *m = dev_get_drvdata(dev);				\
									\
	return sysfs_emit(buf, _format "\n", _value);			\
}									\
static DEVICE_ATTR_RO(_name)

MGR_ATTR(incarnation, "%#llx", mgr_incarnation(m));
MGR_ATTR(queue_pairs_total, "%u", READ_ONCE(m->nr_pairs));
MGR_ATTR(queue_pairs_free, "%u", mgr_pairs_free(m));
MGR_ATTR(quirks, "%#lx", m->ctrl.quirks & ~NVME_QUIRK_IGNORE_DEV_SUBNQN);

static struct attribute *mgr_attrs[] = {
	&dev_attr_incarnation.attr,
	&dev_attr_queue_pairs_total.attr,
	&dev_attr_queue_pairs_free.attr,
	&dev_attr_quirks.attr,
	NULL,
};
ATTRIBUTE_GROUPS(mgr);

static struct pci_driver mgr_driver = {
	.name = KBUILD_MODNAME,
	.probe = mgr_probe,
	.remove = mgr_remove,
	.shutdown = mgr_shutdown,
	.err_handler = &mgr_err_handler,
	.dev_groups = mgr_groups,
	.driver.pm = pm_sleep_ptr(&mgr_pm_ops),
};

static int __init mgr_init(void)
{
	return pci_register_driver(&mgr_driver);
}

static void __exit mgr_exit(void)
{
	pci_unregister_driver(&mgr_driver);
	/* Their release is this module's code. */
	wait_event(mgr_gone, !atomic_read(&mgr_count));
}

module_init(mgr_init);
module_exit(mgr_exit);
MODULE_DESCRIPTION("smartio: manager of a shared NVMe controller");
MODULE_LICENSE("GPL");
