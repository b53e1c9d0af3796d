/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smartio_nvme_mgr

#if !defined(_SMARTIO_NVME_MGR_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SMARTIO_NVME_MGR_TRACE_H

#include <linux/tracepoint.h>
#include "mgr.h"

DECLARE_EVENT_CLASS(smartio_nvme_mgr_pair,
		    TP_PROTO(struct mgr_session *session, u16 qid, int result),
		    TP_ARGS(session, qid, result),
		    TP_STRUCT__entry(__string(drive, pci_name(session->m->pdev))
				     __string(host, session->s->host_name)
				     __field(u64, session)
				     __field(u16, qid)
				     __field(int, result)),
		    TP_fast_assign(__assign_str(drive);
				   __assign_str(host);
				   __entry->session = session->s->id;
				   __entry->qid = qid;
				   __entry->result = result;),
		    TP_printk("%s session=%#llx host=%s qid=%u result=%d",
			      __get_str(drive), __entry->session, __get_str(host),
			      __entry->qid, __entry->result)
);

DEFINE_EVENT(smartio_nvme_mgr_pair, smartio_nvme_mgr_create,
	     TP_PROTO(struct mgr_session *session, u16 qid, int result),
	     TP_ARGS(session, qid, result)
);

DEFINE_EVENT(smartio_nvme_mgr_pair, smartio_nvme_mgr_delete,
	     TP_PROTO(struct mgr_session *session, u16 qid, int result),
	     TP_ARGS(session, qid, result)
);

DECLARE_EVENT_CLASS(smartio_nvme_mgr_command,
	    TP_PROTO(struct mgr_session *session, const struct nvme_command *cmd,
		     int treatment, int result),
	    TP_ARGS(session, cmd, treatment, result),
	    TP_STRUCT__entry(__string(drive, pci_name(session->m->pdev))
			     __string(host, session->s->host_name)
			     __field(u64, session)
			     __field(u8, opcode)
			     __field(u32, nsid)
			     __field(u32, cdw10)
			     __field(u32, cdw11)
			     __field(int, treatment)
			     __field(int, result)),
	    TP_fast_assign(__assign_str(drive);
			   __assign_str(host);
			   __entry->session = session->s->id;
			   __entry->opcode = cmd->common.opcode;
			   __entry->nsid = le32_to_cpu(cmd->common.nsid);
			   __entry->cdw10 = le32_to_cpu(cmd->common.cdw10);
			   __entry->cdw11 = le32_to_cpu(cmd->common.cdw11);
			   __entry->treatment = treatment;
			   __entry->result = result;),
	    TP_printk("%s session=%#llx host=%s opcode=%#x nsid=%#x cdw10=%#x cdw11=%#x treatment=%d result=%#x",
		      __get_str(drive), __entry->session, __get_str(host),
		      __entry->opcode, __entry->nsid, __entry->cdw10,
		      __entry->cdw11, __entry->treatment, __entry->result)
);

DEFINE_EVENT(smartio_nvme_mgr_command, smartio_nvme_mgr_admin,
	     TP_PROTO(struct mgr_session *session,
		      const struct nvme_command *cmd, int treatment, int result),
	     TP_ARGS(session, cmd, treatment, result));

/* A reservation command; its treatment is 0. */
DEFINE_EVENT(smartio_nvme_mgr_command, smartio_nvme_mgr_resv,
	     TP_PROTO(struct mgr_session *session,
		      const struct nvme_command *cmd, int treatment, int result),
	     TP_ARGS(session, cmd, treatment, result));

TRACE_EVENT(smartio_nvme_mgr_reset,
	    TP_PROTO(struct mgr *m, int result),
	    TP_ARGS(m, result),
	    TP_STRUCT__entry(__string(drive, pci_name(m->pdev))
			     __field(u64, incarnation)
			     __field(int, result)),
	    TP_fast_assign(__assign_str(drive);
			   __entry->incarnation = m->incarnation;
			   __entry->result = result;),
	    TP_printk("%s incarnation=%#llx result=%d", __get_str(drive),
		      __entry->incarnation, __entry->result)
);

#endif /* _SMARTIO_NVME_MGR_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE mgr_trace
#include <trace/define_trace.h>
