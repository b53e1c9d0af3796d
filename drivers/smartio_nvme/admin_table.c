// SPDX-License-Identifier: GPL-2.0
/*
 * The policy for clients' admin commands, and nothing else: tables of those
 * that are passed or virtualised. All others are refused. User space compiles
 * this file too.
 */
#include <linux/bits.h>
#include <linux/string.h>

#include "admin_table.h"
#include "proto.h"

#define DNR(status)		((status) | NVME_STATUS_DNR)
#define FEATURE_SAVE		BIT(31)

/* In the tables: the index is the opcode, CNS, log page or feature. */
struct admin_row {
	u8 treatment;
	u16 status;
};

#define PASS			{ ADMIN_PASS, 0 }
#define VIRTUAL(treatment)	{ treatment, 0 }
#define REFUSE(status)		{ ADMIN_REFUSE, DNR(status) }

/* Opcodes that are decided by themselves; the default is Invalid Opcode. */
static const struct admin_row opcodes[256] = {
	[nvme_admin_abort_cmd] = VIRTUAL(ADMIN_ABORT),
	/* The client keeps its one request for an event to itself. */
	[nvme_admin_async_event] = REFUSE(NVME_SC_ASYNC_LIMIT),
};

/* The default is Invalid Field. */
static const struct admin_row identify[256] = {
	[NVME_ID_CNS_NS] = VIRTUAL(ADMIN_IDENTIFY_NS),
	[NVME_ID_CNS_CTRL] = VIRTUAL(ADMIN_IDENTIFY_CTRL),
	[NVME_ID_CNS_NS_ACTIVE_LIST] = PASS,
	[NVME_ID_CNS_NS_DESC_LIST] = PASS,
	[NVME_ID_CNS_CS_NS] = PASS,
	[NVME_ID_CNS_CS_CTRL] = PASS,
	[0x07] = PASS,		/* active namespaces of a command set */
	[NVME_ID_CNS_NS_CS_INDEP] = VIRTUAL(ADMIN_IDENTIFY_NS_INDEP),
};

/* The default is Invalid Log Page. */
static const struct admin_row logs[256] = {
	[NVME_LOG_ERROR] = PASS,
	[NVME_LOG_SMART] = PASS,
	[NVME_LOG_FW_SLOT] = PASS,
	[NVME_LOG_CHANGED_NS] = VIRTUAL(ADMIN_LOG_CHANGED_NS),
	[NVME_LOG_CMD_EFFECTS] = VIRTUAL(ADMIN_LOG_EFFECTS),
	[NVME_LOG_RESERVATION] = VIRTUAL(ADMIN_LOG_RESERVATION),
};

/* The default is Invalid Field. None that passes has data. */
static const struct admin_row get_features[256] = {
	[NVME_FEAT_ARBITRATION] = PASS,
	[NVME_FEAT_POWER_MGMT] = PASS,
	[NVME_FEAT_TEMP_THRESH] = PASS,
	[NVME_FEAT_ERR_RECOVERY] = PASS,
	[NVME_FEAT_VOLATILE_WC] = PASS,
	[NVME_FEAT_NUM_QUEUES] = VIRTUAL(ADMIN_GET_QUEUES),
	[NVME_FEAT_IRQ_COALESCE] = PASS,
	[NVME_FEAT_IRQ_CONFIG] = PASS,
	[NVME_FEAT_WRITE_ATOMIC] = PASS,
	[NVME_FEAT_ASYNC_EVENT] = VIRTUAL(ADMIN_GET_EVENTS),
	[NVME_FEAT_SW_PROGRESS] = PASS,
	[NVME_FEAT_HOST_ID] = VIRTUAL(ADMIN_GET_HOST_ID),
	[NVME_FEAT_RESV_MASK] = VIRTUAL(ADMIN_GET_RESV_MASK),
	[NVME_FEAT_RESV_PERSIST] = VIRTUAL(ADMIN_GET_RESV_PERSIST),
};

/* The default is Invalid Field; what others share with the client is fixed. */
static const struct admin_row set_features[256] = {
	[NVME_FEAT_ARBITRATION] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_POWER_MGMT] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_TEMP_THRESH] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_ERR_RECOVERY] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_VOLATILE_WC] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_NUM_QUEUES] = VIRTUAL(ADMIN_SET_QUEUES),
	[NVME_FEAT_IRQ_COALESCE] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_IRQ_CONFIG] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_WRITE_ATOMIC] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_ASYNC_EVENT] = VIRTUAL(ADMIN_SET_EVENTS),
	[NVME_FEAT_SW_PROGRESS] = REFUSE(NVME_SC_FEATURE_NOT_CHANGEABLE),
	[NVME_FEAT_HOST_ID] = VIRTUAL(ADMIN_SET_HOST_ID),
	[NVME_FEAT_RESV_MASK] = VIRTUAL(ADMIN_SET_RESV_MASK),
	[NVME_FEAT_RESV_PERSIST] = VIRTUAL(ADMIN_SET_RESV_PERSIST),
};

static struct admin_verdict refuse(u16 status)
{
	return (struct admin_verdict){ ADMIN_REFUSE, DNR(status), 0 };
}

static struct admin_verdict judge(const struct admin_row *row, u16 by_default)
{
	if (row->treatment == ADMIN_REFUSE)
		return refuse(row->status ? row->status : by_default);
	return (struct admin_verdict){ row->treatment, 0, 0 };
}

static struct admin_verdict judge_identify(const struct nvme_command *cmd)
{
	u32 cdw10 = le32_to_cpu(cmd->common.cdw10);
	struct admin_verdict verdict;

	/* No CNS that passes names a controller (CNTID). */
	if (cdw10 >> 16)
		return refuse(NVME_SC_INVALID_FIELD);
	verdict = judge(&identify[cdw10 & 0xff], NVME_SC_INVALID_FIELD);
	verdict.data_len = NVME_IDENTIFY_DATA_SIZE;
	return verdict;
}

static struct admin_verdict judge_log(const struct nvme_command *cmd)
{
	u64 dwords = le16_to_cpu(cmd->get_log_page.numdl) +
		((u64)le16_to_cpu(cmd->get_log_page.numdu) << 16) + 1;
	struct admin_verdict verdict;

	verdict = judge(&logs[cmd->get_log_page.lid], NVME_SC_INVALID_LOG_PAGE);
	if (verdict.treatment == ADMIN_REFUSE)
		return verdict;
	if (dwords * 4 > SNVME_ADMIN_DATA_MAX)
		return refuse(NVME_SC_INVALID_FIELD);
	verdict.data_len = dwords * 4;
	if (verdict.treatment != ADMIN_PASS &&
	    (admin_log_offset(cmd) % 4 ||
	     admin_log_offset(cmd) > ADMIN_LOG_BYTES))
		return refuse(NVME_SC_INVALID_FIELD);
	return verdict;
}

static u32 host_id_bytes(const struct nvme_command *cmd)
{
	return le32_to_cpu(cmd->common.cdw11) & 1 ? 16 : 8;
}

static struct admin_verdict judge_get(const struct nvme_command *cmd)
{
	u8 fid = le32_to_cpu(cmd->common.cdw10);
	struct admin_verdict verdict;

	verdict = judge(&get_features[fid], NVME_SC_INVALID_FIELD);
	if (verdict.treatment != ADMIN_REFUSE && admin_feature_select(cmd) > 3)
		return refuse(NVME_SC_INVALID_FIELD);
	/* Capabilities (select 3) come without data. */
	if (verdict.treatment == ADMIN_GET_HOST_ID &&
	    admin_feature_select(cmd) != 3)
		verdict.data_len = host_id_bytes(cmd);
	return verdict;
}

static struct admin_verdict judge_set(const struct nvme_command *cmd)
{
	u8 fid = le32_to_cpu(cmd->common.cdw10);
	struct admin_verdict verdict;

	verdict = judge(&set_features[fid], NVME_SC_INVALID_FIELD);
	if (verdict.treatment != ADMIN_REFUSE &&
	    le32_to_cpu(cmd->common.cdw10) & FEATURE_SAVE)
		return refuse(NVME_SC_FEATURE_NOT_SAVEABLE);
	if (verdict.treatment == ADMIN_SET_HOST_ID)
		verdict.data_len = host_id_bytes(cmd);
	return verdict;
}

/**
 * admin_classify() - what becomes of a client's admin command
 * @cmd: the command
 *
 * Context: any.
 * Return: the verdict; refused is what no table knows.
 */
struct admin_verdict admin_classify(const struct nvme_command *cmd)
{
	/* Neither fused, nor with an SGL. */
	if (cmd->common.flags)
		return refuse(NVME_SC_INVALID_FIELD);

	switch (cmd->common.opcode) {
	case nvme_admin_identify:
		return judge_identify(cmd);
	case nvme_admin_get_log_page:
		return judge_log(cmd);
	case nvme_admin_get_features:
		return judge_get(cmd);
	case nvme_admin_set_features:
		return judge_set(cmd);
	default:
		return judge(&opcodes[cmd->common.opcode],
			     NVME_SC_INVALID_OPCODE);
	}
}

/**
 * admin_supported() - whether a client's effects log shows a command
 * @opcode: of an admin command
 *
 * Context: any.
 */
bool admin_supported(u8 opcode)
{
	switch (opcode) {
	case nvme_admin_identify:
	case nvme_admin_get_log_page:
	case nvme_admin_get_features:
	case nvme_admin_set_features:
	case nvme_admin_abort_cmd:
	case nvme_admin_async_event:
		return true;
	}
	return false;
}

/* Get Features' Select: 0 current, 1 default, 2 saved, 3 capabilities. */
u32 admin_feature_select(const struct nvme_command *cmd)
{
	return (le32_to_cpu(cmd->common.cdw10) >> 8) & 7;
}

/* Get Log Page's offset, in bytes. */
u64 admin_log_offset(const struct nvme_command *cmd)
{
	return le32_to_cpu(cmd->get_log_page.lpol) |
	       (u64)le32_to_cpu(cmd->get_log_page.lpou) << 32;
}
