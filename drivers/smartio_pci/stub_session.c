// SPDX-License-Identifier: GPL-2.0
/*
 * A borrower of a lent function. It gets a function that was just reset. The
 * function is reset again before another host gets it.
 */
#include <linux/slab.h>

#include "stub.h"

/*
 * Restores the configuration space of the moment when the function was taken. A
 * copy that is made later may consist of ones: the function does not always
 * answer after a reset.
 */
void stub_restore(struct stub *stub)
{
	pci_load_saved_state(stub->pdev, stub->saved);
	pci_restore_state(stub->pdev);
}

/*
 * While the PCI core recovers from an error it holds pci_bus_sem, which a reset
 * of the bus takes again, and waits for this. It has reset the link, or will.
 */
static int stub_reset_function(struct stub *stub)
{
	if (!stub->stopped)
		return __pci_reset_function_locked(stub->pdev);
	if (pcie_reset_flr(stub->pdev, PCI_RESET_PROBE))
		return 0;
	return pcie_reset_flr(stub->pdev, PCI_RESET_DO_RESET);
}

/*
 * Resets the function: it reaches no memory any more, and is in the state in
 * which it was taken. The callers keep its driver, this one, from being
 * unbound. Returns 0 or the error of the reset: then bus mastering stays off
 * for good.
 */
int stub_quiesce(struct stub *stub)
{
	struct pci_dev *bridge, *pdev = stub->pdev;
	u16 command;
	int ret;

	pci_clear_master(pdev);
	stub->unreset = true;
	if (!pci_device_is_present(pdev))
		return -ENODEV;
	/* writes that it sent before the reply have arrived */
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	pci_wait_for_pending_transaction(pdev);
	/*
	 * The reset may be one of its bus: the lock keeps others from that
	 * meanwhile. If another thread has the bridge already, it resets this
	 * function, and waits for this.
	 */
	bridge = pci_upstream_bridge(pdev);
	if (bridge && !pci_cfg_access_trylock(bridge))
		bridge = NULL;
	ret = stub_reset_function(stub);
	if (bridge)
		pci_cfg_access_unlock(bridge);
	if (ret)
		pci_err(pdev, "can't be reset: %d\n", ret);
	stub_restore(stub);
	pci_clear_master(pdev);
	stub->unreset = ret;
	return ret;
}

static int stub_allow_bars(struct stub *stub, struct smartio_session *session)
{
	struct pci_dev *pdev = stub->pdev;
	int i, ret = 0;

	for (i = 0; i < PCI_STD_NUM_BARS && !ret; i++)
		if (stub->description->bars[i].size)
			ret = smartio_session_allow_bar(session, i, 0,
							pci_resource_len(pdev, i));
	return ret;
}

static void stub_set_session(struct stub *stub, struct smartio_session *session)
{
	lockdep_assert_held(&stub->lock);
	spin_lock(&stub->show_lock);
	stub->session = session;
	spin_unlock(&stub->show_lock);
}

static int stub_open(struct smartio_session *session)
{
	struct stub *stub = smartio_export_context(session->export);
	int ret;

	if (session->local)
		return -EOPNOTSUPP;
	mutex_lock(&stub->lock);
	ret = stub_quiesce(stub);
	if (!ret)
		ret = stub_allow_bars(stub, session);
	if (!ret) {
		stub_irq_begin(stub);
		stub_set_session(stub, session);
		stub->serial = 0;
	}
	mutex_unlock(&stub->lock);
	if (!ret)
		pci_info(stub->pdev, "borrowed by %s over %s\n",
			 session->host_name, session->link_name);
	return ret;
}

/* Its registers are shut already. */
static void stub_close(struct smartio_session *session)
{
	struct stub *stub = smartio_export_context(session->export);
	int ret;

	mutex_lock(&stub->lock);
	stub_set_session(stub, NULL);
	ret = stub_quiesce(stub);
	mutex_unlock(&stub->lock);
	pci_info(stub->pdev, "given back by %s%s\n", session->host_name,
		 ret ? ", and not reset" : "");
}

static int stub_describe(struct stub *stub,
			 const struct spci_describe_req *request,
			 struct spci_describe_reply *reply, size_t *reply_size)
{
	if (le16_to_cpu(request->version) != SPCI_VERSION)
		return -EPROTONOSUPPORT;
	if (*reply_size < sizeof(*reply))
		return -EMSGSIZE;
	*reply = *stub->description;
	*reply_size = sizeof(*reply);
	return 0;
}

static int stub_master(struct stub *stub, const struct spci_master_req *request)
{
	u16 command;

	if (le16_to_cpu(request->on))
		pci_set_master(stub->pdev);
	else
		pci_clear_master(stub->pdev);
	pci_read_config_word(stub->pdev, PCI_COMMAND, &command);
	return 0;
}

static int stub_reset(struct stub *stub)
{
	int ret = stub_quiesce(stub);

	if (!ret)
		stub_irq_begin(stub);
	return ret;
}

static int stub_request(struct smartio_session *session, const void *request,
			size_t size, void *reply, size_t *reply_size)
{
	struct stub *stub = smartio_export_context(session->export);
	int op = spci_request_check(&stub->limits, request, size);
	size_t room = *reply_size;
	int ret;

	*reply_size = 0;
	mutex_lock(&stub->lock);
	/* its borrower waits for no answer, and has repeated it */
	if (op > SPCI_DESCRIBE && !spci_request_newer(request, &stub->serial))
		op = -ESTALE;
	switch (op) {
	case SPCI_DESCRIBE:
		*reply_size = room;
		ret = stub_describe(stub, request, reply, reply_size);
		break;
	case SPCI_MASTER:
		ret = stub_master(stub, request);
		break;
	case SPCI_VECTORS:
		ret = stub_irq_vectors(stub, session, request);
		break;
	case SPCI_MSI:
		ret = stub_irq_msi(stub, session, request);
		break;
	case SPCI_RESET:
		ret = stub_reset(stub);
		break;
	default:
		ret = op;
	}
	mutex_unlock(&stub->lock);
	if (ret)
		*reply_size = 0;
	return ret;
}

static int stub_show(void *context, char *buf, size_t size)
{
	struct stub *stub = context;
	int length = 0;

	spin_lock(&stub->show_lock);
	if (stub->session)
		length = scnprintf(buf, size, "function %s\n",
				   stub->session->host_name);
	spin_unlock(&stub->show_lock);
	return length;
}

/* A borrower that can't be reached has lost the session, and the mappings. */
static void stub_peers_lost(struct smartio_session *session)
{
	struct spci_note note = { .notice = cpu_to_le16(SPCI_PEERS_LOST) };

	smartio_session_notify(session, &note, sizeof(note));
}

const struct smartio_lender_ops stub_lender_ops = {
	.open = stub_open,
	.close = stub_close,
	.request = stub_request,
	.show = stub_show,
	.peers_lost = stub_peers_lost,
	.exclusive = true,
};
