// SPDX-License-Identifier: GPL-2.0
/*
 * dpc_port: Downstream Port Containment (PCI Express 6.0, 6.2.11 and 7.9.14)
 * for a root port that has none, as QEMU's. The module adds the capability to
 * the port's configuration space, with its software trigger and without the
 * extensions for root ports. The kernel's driver "dpc" then binds to the port.
 * An uncorrectable error that the port detects triggers it, and so does an error
 * message from below, as far as DPC Control enables that.
 * While the port contains an error, its link is down: the bus below is in reset,
 * and its configuration space reads as ones. Otherwise the link is active, unless
 * the parameter "active" says that the port must not report it.
 */
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pci_regs.h>
#include <linux/workqueue.h>

static char *port;
module_param(port, charp, 0444);
MODULE_PARM_DESC(port, "the port, as DDDD:BB:DD.F");
static bool active = true;
module_param(active, bool, 0644);
MODULE_PARM_DESC(active, "whether the port reports that its link is active");
static unsigned int contained_count;
module_param(contained_count, uint, 0444);
MODULE_PARM_DESC(contained_count, "errors contained so far");

#define DPC_AT			0xe00
#define DPC_SW_TRIGGER		0x40	/* DPC Control, 7.9.14.3 */
#define DPC_CTL_EN		(PCI_EXP_DPC_CTL_EN_FATAL | PCI_EXP_DPC_CTL_EN_NONFATAL)
#define DPC_CTL_RW		(DPC_CTL_EN | PCI_EXP_DPC_CTL_INT_EN)
#define DPC_STATUS_RW1C		(PCI_EXP_DPC_STATUS_TRIGGER | PCI_EXP_DPC_STATUS_INTERRUPT)
#define ROOT_RECEIVED		(PCI_ERR_ROOT_UNCOR_RCV | PCI_ERR_ROOT_MULTI_UNCOR_RCV | \
				 PCI_ERR_ROOT_FIRST_FATAL | PCI_ERR_ROOT_NONFATAL_RCV | \
				 PCI_ERR_ROOT_FATAL_RCV)

static struct pci_dev *dpc;
static struct pci_ops *stock_ops;	/* of the port's bus */
static struct pci_ops *stock_below;	/* of the bus below */
static int last_capability;
static DEFINE_RAW_SPINLOCK(registers);	/* the members below; x86 takes no pci_lock */
static u16 control;
static u16 status;
static u16 source;
static bool contained;

static void dpc_port_interrupt(struct irq_work *work);
static void dpc_port_find_vector(struct work_struct *work);
static DEFINE_IRQ_WORK(interrupt, dpc_port_interrupt);
static DECLARE_WORK(find_vector, dpc_port_find_vector);
static int vector;

/* QEMU's port has one vector, which all services of the port share. */
static void dpc_port_interrupt(struct irq_work *work)
{
	generic_handle_irq(vector);
}

static void dpc_port_find_vector(struct work_struct *work)
{
	vector = pci_irq_vector(dpc, 0);
	if (vector > 0)
		irq_work_queue(&interrupt);
}

static void dpc_port_link(bool up)
{
	u32 bridge;

	stock_ops->read(dpc->bus, dpc->devfn, PCI_BRIDGE_CONTROL, 2, &bridge);
	if (up)
		bridge &= ~PCI_BRIDGE_CTL_BUS_RESET;
	else
		bridge |= PCI_BRIDGE_CTL_BUS_RESET;
	stock_ops->write(dpc->bus, dpc->devfn, PCI_BRIDGE_CONTROL, 2, bridge);
	contained = !up;
}

static void dpc_port_contain(u16 reason, u16 requester)
{
	status = PCI_EXP_DPC_STATUS_TRIGGER | reason;
	source = requester;
	contained_count++;
	dpc_port_link(false);
	if (control & PCI_EXP_DPC_CTL_INT_EN) {
		status |= PCI_EXP_DPC_STATUS_INTERRUPT;
		schedule_work(&find_vector);
	}
}

static u32 dpc_port_aer(int at)
{
	u32 value;

	stock_ops->read(dpc->bus, dpc->devfn, dpc->aer_cap + at, 4, &value);
	return value;
}

/*
 * Contains an error that QEMU's port has signalled to its root complex. A port
 * with DPC signals none: the message is cleared in Root Error Status, which is
 * read here before the kernel reads it. Severity, mask and message are QEMU's.
 */
static void dpc_port_errors(void)
{
	u32 received, requester, uncorrectable;
	bool fatal;

	if (contained || !(control & DPC_CTL_EN))
		return;
	received = dpc_port_aer(PCI_ERR_ROOT_STATUS) & ROOT_RECEIVED;
	fatal = received & PCI_ERR_ROOT_FATAL_RCV;
	if (!fatal && !(received && control & PCI_EXP_DPC_CTL_EN_NONFATAL))
		return;
	requester = dpc_port_aer(PCI_ERR_ROOT_ERR_SRC) >> 16;
	stock_ops->write(dpc->bus, dpc->devfn,
			 dpc->aer_cap + PCI_ERR_ROOT_STATUS, 4, received);
	uncorrectable = dpc_port_aer(PCI_ERR_UNCOR_STATUS) &
			~dpc_port_aer(PCI_ERR_UNCOR_MASK);
	if (fatal)
		uncorrectable &= dpc_port_aer(PCI_ERR_UNCOR_SEVER);
	if (uncorrectable)
		dpc_port_contain(PCI_EXP_DPC_STATUS_TRIGGER_RSN_UNCOR, 0);
	else
		dpc_port_contain(fatal ? PCI_EXP_DPC_STATUS_TRIGGER_RSN_FE :
					 PCI_EXP_DPC_STATUS_TRIGGER_RSN_NFE,
				 requester);
}

static void dpc_port_control(u16 value)
{
	control = value & DPC_CTL_RW;
	if ((value & DPC_SW_TRIGGER) && (control & DPC_CTL_EN) && !contained)
		dpc_port_contain(PCI_EXP_DPC_STATUS_TRIGGER_RSN_IN_EXT |
					 PCI_EXP_DPC_STATUS_TRIGGER_RSN_SW_TRIGGER,
				 0);
}

static void dpc_port_status(u16 value)
{
	status &= ~(value & DPC_STATUS_RW1C);
	if (contained && !(status & PCI_EXP_DPC_STATUS_TRIGGER))
		dpc_port_link(true);
}

static u32 dpc_port_dword(int at, u32 stock)
{
	switch (at) {
	case DPC_AT:
		return PCI_EXT_CAP_ID_DPC | 1 << 16;
	case DPC_AT + 4:
		return PCI_EXP_DPC_CAP_SW_TRIGGER | (u32)control << 16;
	case DPC_AT + 8:
		return status | (u32)source << 16;
	}
	if (at == last_capability)
		return (stock & 0xfffff) | DPC_AT << 20;
	if (at == dpc->pcie_cap + PCI_EXP_LNKCTL) {
		stock &= ~(PCI_EXP_LNKSTA_DLLLA << 16);
		return contained || !READ_ONCE(active) ?
			       stock :
			       stock | PCI_EXP_LNKSTA_DLLLA << 16;
	}
	return stock;
}

static int dpc_port_read(struct pci_bus *bus, unsigned int devfn, int where,
			 int size, u32 *value)
{
	int ret, dword = where & ~3;
	unsigned long flags;

	if (bus != dpc->bus || devfn != dpc->devfn)
		return stock_ops->read(bus, devfn, where, size, value);
	/* The handlers of the port's interrupt read these. */
	if (dword == DPC_AT + PCI_EXP_DPC_STATUS ||
	    dword == dpc->aer_cap + PCI_ERR_ROOT_STATUS) {
		raw_spin_lock_irqsave(&registers, flags);
		dpc_port_errors();
		raw_spin_unlock_irqrestore(&registers, flags);
	}
	ret = stock_ops->read(bus, devfn, dword, 4, value);
	if (ret)
		return ret;
	raw_spin_lock_irqsave(&registers, flags);
	*value = dpc_port_dword(dword, *value) >> (where & 3) * 8;
	raw_spin_unlock_irqrestore(&registers, flags);
	if (size < 4)
		*value &= BIT(size * 8) - 1;
	return 0;
}

static int dpc_port_write(struct pci_bus *bus, unsigned int devfn, int where,
			  int size, u32 value)
{
	unsigned long flags;
	int ret = 0;

	if (bus != dpc->bus || devfn != dpc->devfn ||
	    where < DPC_AT || where >= DPC_AT + 0x10)
		return stock_ops->write(bus, devfn, where, size, value);
	raw_spin_lock_irqsave(&registers, flags);
	if (size == 2 && where == DPC_AT + PCI_EXP_DPC_CTL)
		dpc_port_control(value);
	else if (size == 2 && where == DPC_AT + PCI_EXP_DPC_STATUS)
		dpc_port_status(value);
	else
		ret = PCIBIOS_BAD_REGISTER_NUMBER;	/* Linux writes words */
	raw_spin_unlock_irqrestore(&registers, flags);
	return ret;
}

static int dpc_below_read(struct pci_bus *bus, unsigned int devfn, int where,
			  int size, u32 *value)
{
	if (!contained)
		return stock_below->read(bus, devfn, where, size, value);
	PCI_SET_ERROR_RESPONSE(value);
	return 0;
}

static int dpc_below_write(struct pci_bus *bus, unsigned int devfn, int where,
			   int size, u32 value)
{
	return contained ? 0 :
			   stock_below->write(bus, devfn, where, size, value);
}

static struct pci_ops port_ops = { .read = dpc_port_read, .write = dpc_port_write };
static struct pci_ops below_ops = { .read = dpc_below_read, .write = dpc_below_write };

static int dpc_port_find_last(void)
{
	int at = PCI_CFG_SPACE_SIZE, next;
	u32 header;

	for (;; at = next) {
		if (pci_read_config_dword(dpc, at, &header) ||
		    PCI_POSSIBLE_ERROR(header) || !header)
			return -ENODEV;
		next = PCI_EXT_CAP_NEXT(header);
		if (!next)
			return at;
	}
}

static int __init dpc_port_init(void)
{
	unsigned int domain, bus, slot, function;
	int ret;

	if (!port || sscanf(port, "%x:%x:%x.%x", &domain, &bus, &slot,
			    &function) != 4)
		return -EINVAL;
	dpc = pci_get_domain_bus_and_slot(domain, bus,
					  PCI_DEVFN(slot, function));
	if (!dpc)
		return -ENODEV;
	last_capability = dpc_port_find_last();
	if (last_capability < 0 || dpc->dpc_cap || !dpc->aer_cap ||
	    !dpc->subordinate ||
	    pci_pcie_type(dpc) != PCI_EXP_TYPE_ROOT_PORT) {
		ret = -ENODEV;
		goto put;
	}
	stock_ops = dpc->bus->ops;
	stock_below = dpc->subordinate->ops;
	pci_bus_set_ops(dpc->bus, &port_ops);
	pci_bus_set_ops(dpc->subordinate, &below_ops);
	dpc->dpc_cap = DPC_AT;
	ret = device_reprobe(&dpc->dev);	/* services of the port */
	if (!ret)
		return 0;
	dpc->dpc_cap = 0;
	pci_bus_set_ops(dpc->subordinate, stock_below);
	pci_bus_set_ops(dpc->bus, stock_ops);
put:
	pci_dev_put(dpc);
	return ret;
}

static void __exit dpc_port_exit(void)
{
	device_release_driver(&dpc->dev);
	cancel_work_sync(&find_vector);
	irq_work_sync(&interrupt);
	if (contained)
		dpc_port_link(true);
	dpc->dpc_cap = 0;
	pci_bus_set_ops(dpc->subordinate, stock_below);
	pci_bus_set_ops(dpc->bus, stock_ops);
	if (device_attach(&dpc->dev) <= 0)
		pci_warn(dpc, "no driver takes the port again\n");
	pci_dev_put(dpc);
}

module_init(dpc_port_init);
module_exit(dpc_port_exit);

MODULE_DESCRIPTION("a root port of QEMU with Downstream Port Containment");
MODULE_LICENSE("GPL");
