/* SPDX-License-Identifier: GPL-2.0 */
/* The steps of a request and of a path. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smartio_nvme

#if !defined(_SMARTIO_NVME_CLIENT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SMARTIO_NVME_CLIENT_TRACE_H

#include <linux/tracepoint.h>

#include "client.h"

#define snvme_show_state(state)						\
	__print_symbolic(state,						\
			 { SNVME_JOINING, "joining" },			\
			 { SNVME_UP, "up" },				\
			 { SNVME_LOST, "lost" },			\
			 { SNVME_REVOKED, "revoked" })

TRACE_EVENT(snvme_path_state,
	TP_PROTO(struct snvme_path *path, enum snvme_state from,
		 enum snvme_state to, const char *why),
	TP_ARGS(path, from, to, why),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(int, from)
		__field(int, to)
		__string(why, why)
	),
	TP_fast_assign(
		__entry->instance = path->ctrl.instance;
		__entry->from = from;
		__entry->to = to;
		__assign_str(why);
	),
	TP_printk("nvme%d: %s -> %s (%s)", __entry->instance,
		  snvme_show_state(__entry->from),
		  snvme_show_state(__entry->to), __get_str(why))
);

TRACE_EVENT(snvme_map,
	TP_PROTO(struct snvme_queue *q, struct request *rq,
		 struct snvme_iod *iod, bool sgl, unsigned int list),
	TP_ARGS(q, rq, iod, sgl, list),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, qid)
		__field(int, tag)
		__field(u32, bytes)
		__field(u8, mapped)
		__field(bool, sgl)
		__field(unsigned int, list)
	),
	TP_fast_assign(
		__entry->instance = q->path->ctrl.instance;
		__entry->qid = q->qid;
		__entry->tag = rq->tag;
		__entry->bytes = blk_rq_payload_bytes(rq);
		__entry->mapped = iod->mapped;
		__entry->sgl = sgl;
		__entry->list = list;
	),
	TP_printk("nvme%d: qid=%u tag=%d %u bytes %s, %s, list of %u",
		  __entry->instance, __entry->qid, __entry->tag,
		  __entry->bytes,
		  __print_symbolic(__entry->mapped,
				   { SNVME_MAPPED_ONE, "one page run" },
				   { SNVME_MAPPED_SG, "scattered" },
				   { SNVME_MAPPED_BOUNCE, "copied" }),
		  __entry->sgl ? "SGL" : "PRP", __entry->list)
);

TRACE_EVENT(snvme_submit,
	TP_PROTO(struct snvme_queue *q, const struct nvme_command *cmd,
		 bool sent),
	TP_ARGS(q, cmd, sent),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, qid)
		__field(u16, cid)
		__field(u8, opcode)
		__field(u16, slot)
		__field(bool, sent)
	),
	TP_fast_assign(
		__entry->instance = q->path->ctrl.instance;
		__entry->qid = q->qid;
		__entry->cid = cmd->common.command_id;
		__entry->opcode = cmd->common.opcode;
		__entry->slot = q->sq_tail;
		__entry->sent = sent;
	),
	TP_printk("nvme%d: qid=%u cid=%#x opcode=%#x slot=%u%s",
		  __entry->instance, __entry->qid, __entry->cid,
		  __entry->opcode, __entry->slot,
		  __entry->sent ? "" : " not sent: held")
);

TRACE_EVENT(snvme_complete,
	TP_PROTO(struct snvme_queue *q, const struct nvme_completion *cqe),
	TP_ARGS(q, cqe),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, qid)
		__field(u16, cid)
		__field(u16, status)
		__field(u16, slot)
	),
	TP_fast_assign(
		__entry->instance = q->path->ctrl.instance;
		__entry->qid = q->qid;
		__entry->cid = cqe->command_id;
		__entry->status = le16_to_cpu(cqe->status) >> 1;
		__entry->slot = q->cq_head;
	),
	TP_printk("nvme%d: qid=%u cid=%#x status=%#x slot=%u",
		  __entry->instance, __entry->qid, __entry->cid,
		  __entry->status, __entry->slot)
);

#endif /* _SMARTIO_NVME_CLIENT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE client_trace
#include <trace/define_trace.h>
