// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_stubborn: a driver of QEMU's "edu" that takes its time. Its probe or
 * its removal waits until the function is lost, or it keeps the function in its
 * removal. Nothing of that lasts longer than STUBBORN_MS. It notes whether
 * error_detected() came before its removal.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/pci.h>

#define STUBBORN_MS	30000
#define STUBBORN_POLL_MS	20

static bool await_in_probe;
module_param(await_in_probe, bool, 0644);
MODULE_PARM_DESC(await_in_probe, "the probe waits until the function is lost");
static bool await_in_remove;
module_param(await_in_remove, bool, 0644);
MODULE_PARM_DESC(await_in_remove, "the removal waits until the function is lost");
static bool keep;
module_param(keep, bool, 0644);
MODULE_PARM_DESC(keep, "the removal waits until this is 0");

static char *in = "none";
module_param(in, charp, 0444);
MODULE_PARM_DESC(in, "where it waits: probe, remove, none");
static bool noticed;
module_param(noticed, bool, 0444);
MODULE_PARM_DESC(noticed, "the last wait ended with a loss");

static bool detected;
static bool warned;
module_param(warned, bool, 0444);
MODULE_PARM_DESC(warned, "before the last removal error_detected() said that the function is lost");

static bool stubborn_is_lost(struct pci_dev *pdev)
{
	return pci_channel_offline(pdev) && !pci_device_is_present(pdev);
}

static void stubborn_wait(struct pci_dev *pdev, char *where, bool await)
{
	unsigned long end = jiffies + msecs_to_jiffies(STUBBORN_MS);

	WRITE_ONCE(in, where);
	while (time_before(jiffies, end) &&
	       (await ? !stubborn_is_lost(pdev) : READ_ONCE(keep)))
		msleep(STUBBORN_POLL_MS);
	noticed = stubborn_is_lost(pdev);
	WRITE_ONCE(in, "none");
}

static int stubborn_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	detected = false;
	if (await_in_probe)
		stubborn_wait(pdev, "probe", true);
	return 0;
}

static void stubborn_remove(struct pci_dev *pdev)
{
	WRITE_ONCE(warned, detected);
	if (await_in_remove || keep)
		stubborn_wait(pdev, "remove", await_in_remove);
}

/* The caller has the device's lock, as that of the probe and of the removal. */
static pci_ers_result_t stubborn_error_detected(struct pci_dev *pdev,
						pci_channel_state_t state)
{
	detected |= state == pci_channel_io_perm_failure;
	return PCI_ERS_RESULT_DISCONNECT;
}

static const struct pci_error_handlers stubborn_err_handler = {
	.error_detected = stubborn_error_detected,
};

static const struct pci_device_id stubborn_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};

static struct pci_driver stubborn_driver = {
	.name = KBUILD_MODNAME,
	.id_table = stubborn_ids,
	.probe = stubborn_probe,
	.remove = stubborn_remove,
	.err_handler = &stubborn_err_handler,
};
module_pci_driver(stubborn_driver);

MODULE_DESCRIPTION("smartio test: a driver that takes its time");
MODULE_LICENSE("GPL");
