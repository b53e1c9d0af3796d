// SPDX-License-Identifier: GPL-2.0
/*
 * snvme_probe - a client of smartio_nvme_mgr that makes no disk: it attaches,
 * makes queue pairs and gives them back, sends requests of a broken or hostile
 * client, and gives the drive addresses that it can't reach. In debugfs, for
 * each path to a drive:
 *
 *   snvme_probe/NAME/run	write: attach
 *				pairs lender|borrower|cmb irq|poll ENTRIES COUNT
 *				over-quota
 *				flood THREADS SECONDS: each creates queue pairs,
 *				and deletes them
 *				hostile SECONDS SEED
 *				admin OPCODE NSID CDW10 CDW11: without data; the
 *				result is its status, and what came with it
 *				reserve COUNT: asks for so many queue pairs; the
 *				result is how many are set aside for the session,
 *				which stays until
 *				leave
 *				unmapped at ADDRESS LBA BLOCKS: an address that
 *				is not mapped; 0: that of a page that never was;
 *				4096 bytes of the media, as so many blocks
 *				the write fails if it did not go as it should
 *   snvme_probe/NAME/result	read: the result of the last one
 *
 * smartio_nvme must not be loaded on that host: it would take the paths.
 */
#include <linux/module.h>
#include <linux/nvme.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "probe.h"

#define MAX_PAIRS	64

static struct dentry *probe_dir;

/* One request from p->message; the reply comes to p->reply. */
int probe_call(struct probe *p, size_t size, size_t *reply_size)
{
	*reply_size = SMARTIO_MESSAGE_MAX;
	return smartio_call(p->sdev, p->message, size, p->reply, reply_size,
			    PROBE_CALL_MS);
}

/* A session, and SNVME_ATTACH in it. smartio_close() ends it. */
int probe_attach(struct probe *p)
{
	struct snvme_attach_req *req = (void *)p->message;
	size_t size;
	int ret;

	ret = smartio_open(p->sdev);
	if (ret)
		return ret;
	memset(req, 0, sizeof(*req));
	req->op = cpu_to_le16(SNVME_ATTACH);
	req->version = cpu_to_le16(SNVME_VERSION);
	ret = probe_call(p, sizeof(*req), &size);
	if (!ret && size != sizeof(p->attached))
		ret = -EPROTO;
	if (ret) {
		smartio_close(p->sdev);
		return ret;
	}
	memcpy(&p->attached, p->reply, sizeof(p->attached));
	return 0;
}

static irqreturn_t probe_irq(int irq, void *context)
{
	return IRQ_HANDLED;
}

static int probe_pair_memory(struct probe *p, struct probe_pair *pair,
			     enum snvme_placement placement, u16 entries)
{
	int ret;

	ret = smartio_segment_alloc(p->sdev, entries * 16,
				    SMARTIO_DEVICE_WRITES, &pair->cq);
	if (ret)
		return ret;
	pair->sq_bytes = entries * 64;
	switch (placement) {
	case SNVME_SQ_SEGMENT:
		return smartio_segment_alloc(p->sdev, pair->sq_bytes,
					     SMARTIO_DEVICE_READS, &pair->sq);
	case SNVME_SQ_BORROWER:
		pair->sq_own = smartio_dma_alloc(p->sdev, pair->sq_bytes,
						 &pair->sq_dma, GFP_KERNEL);
		return pair->sq_own ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

static void probe_pair_free(struct probe *p, struct probe_pair *pair)
{
	if (pair->has_irq)
		smartio_irq_free(p->sdev, &pair->irq);
	if (pair->sq.size)
		smartio_segment_free(p->sdev, &pair->sq);
	if (pair->sq_own)
		smartio_dma_free(p->sdev, pair->sq_bytes, pair->sq_own,
				 pair->sq_dma);
	if (pair->cq.size)
		smartio_segment_free(p->sdev, &pair->cq);
	memset(pair, 0, sizeof(*pair));
}

int probe_pair_create(struct probe *p, struct probe_pair *pair,
		      enum snvme_placement placement, bool irq, u16 entries)
{
	struct snvme_create_req *req = (void *)p->message;
	struct smartio_irq_message message;
	struct snvme_create_reply *reply = (void *)p->reply;
	size_t size;
	int ret;

	memset(pair, 0, sizeof(*pair));
	ret = probe_pair_memory(p, pair, placement, entries);
	if (!ret && irq) {
		ret = smartio_irq_alloc(p->sdev, cpu_online_mask, probe_irq,
					"snvme_probe", p, &pair->irq);
		pair->has_irq = !ret;
	}
	if (ret)
		goto free;

	memset(req, 0, sizeof(*req));
	req->op = cpu_to_le16(SNVME_CREATE);
	req->entries = cpu_to_le16(entries);
	req->placement = cpu_to_le16(placement);
	req->sq_handle = cpu_to_le32(pair->sq.handle);
	if (placement == SNVME_SQ_BORROWER)
		req->sq_addr = cpu_to_le64(pair->sq_dma);
	req->cq_addr = cpu_to_le64(pair->cq.device_addr -
				   p->sdev->dma_offset);
	if (irq) {
		req->flags = cpu_to_le16(SNVME_CREATE_IRQ);
		smartio_irq_message(&pair->irq, &message);
		req->irq_addr = cpu_to_le64(message.addr);
		req->irq_data = cpu_to_le32(message.data);
	}
	ret = probe_call(p, sizeof(*req), &size);
	if (!ret && size != sizeof(*reply))
		ret = -EPROTO;
	if (ret)
		goto free;
	pair->qid = le16_to_cpu(reply->qid);
	pair->created = true;
	return 0;

free:
	probe_pair_free(p, pair);
	return ret;
}

int probe_pair_delete(struct probe *p, struct probe_pair *pair)
{
	struct snvme_delete_req *req = (void *)p->message;
	size_t size;
	int ret = 0;

	if (pair->created) {
		memset(req, 0, sizeof(*req));
		req->op = cpu_to_le16(SNVME_DELETE);
		req->qid = cpu_to_le16(pair->qid);
		ret = probe_call(p, sizeof(*req), &size);
	}
	probe_pair_free(p, pair);
	return ret;
}

/* Creates @count pairs at once; the close deletes the last one. */
static int probe_pairs(struct probe *p, enum snvme_placement placement,
		       bool irq, u16 entries, unsigned int count)
{
	struct probe_pair *pairs;
	unsigned int i, made = 0;
	int ret, err;

	if (count > MAX_PAIRS)
		return -EINVAL;
	pairs = kcalloc(count, sizeof(*pairs), GFP_KERNEL);
	if (!pairs)
		return -ENOMEM;
	ret = probe_attach(p);
	if (ret)
		goto out;
	for (i = 0; i < count && !ret; i++) {
		ret = probe_pair_create(p, &pairs[i], placement, irq, entries);
		made += !ret;
	}
	snprintf(p->result, sizeof(p->result), "made %u of %u: %d\n", made,
		 count, ret);
	for (i = 0; i + 1 < made; i++) {
		err = probe_pair_delete(p, &pairs[i]);
		ret = ret ? ret : err;
	}
	smartio_close(p->sdev);
	if (made)
		probe_pair_free(p, &pairs[made - 1]);
out:
	kfree(pairs);
	return ret;
}

/* One more than the manager grants must be refused with ENOSPC. */
static int probe_over_quota(struct probe *p)
{
	unsigned int granted;
	int ret;

	ret = probe_attach(p);
	if (ret)
		return ret;
	granted = le16_to_cpu(p->attached.queue_pairs);
	smartio_close(p->sdev);
	ret = probe_pairs(p, SNVME_SQ_SEGMENT, false, 64, granted + 1);
	if (ret == -ENOSPC)
		return 0;
	return ret ? ret : -EOVERFLOW;
}

/* One without data, in the session that is there. */
static int probe_admin_call(struct probe *p, u8 opcode, u32 nsid, u32 cdw10,
			    u32 cdw11)
{
	struct snvme_admin_req *req = (void *)p->message;
	struct nvme_command *cmd = (void *)req->sqe;
	size_t size;

	memset(req, 0, sizeof(*req));
	req->op = cpu_to_le16(SNVME_ADMIN);
	cmd->common.opcode = opcode;
	cmd->common.nsid = cpu_to_le32(nsid);
	cmd->common.cdw10 = cpu_to_le32(cdw10);
	cmd->common.cdw11 = cpu_to_le32(cdw11);
	return probe_call(p, sizeof(*req), &size);
}

/* What nvme-core would not send for user space. */
static int probe_admin(struct probe *p, u8 opcode, u32 nsid, u32 cdw10,
		       u32 cdw11)
{
	struct snvme_admin_reply *reply = (void *)p->reply;
	int ret;

	ret = probe_attach(p);
	if (ret)
		return ret;
	ret = probe_admin_call(p, opcode, nsid, cdw10, cdw11);
	if (!ret)
		snprintf(p->result, sizeof(p->result), "%04X %#llx\n",
			 le16_to_cpu(reply->status), le64_to_cpu(reply->result));
	smartio_close(p->sdev);
	return ret;
}

static void probe_leave(struct probe *p)
{
	if (p->stays)
		smartio_close(p->sdev);
	p->stays = false;
}

/* Number of Queues (NVMe base specification), 0's based. */
static int probe_reserve(struct probe *p, u16 count)
{
	struct snvme_admin_reply *reply = (void *)p->reply;
	u32 last = count - 1;
	int ret;

	if (!p->stays) {
		ret = probe_attach(p);
		if (ret)
			return ret;
		p->stays = true;
	}
	ret = probe_admin_call(p, nvme_admin_set_features, 0,
			       NVME_FEAT_NUM_QUEUES, last << 16 | last);
	if (!ret && reply->status)
		ret = -EIO;
	if (!ret)
		snprintf(p->result, sizeof(p->result), "%llu\n",
			 (le64_to_cpu(reply->result) & 0xffff) + 1);
	return ret;
}

static int probe_run(struct probe *p, char *text)
{
	static const char * const placements[] = {
		[SNVME_SQ_SEGMENT] = "lender",
		[SNVME_SQ_BORROWER] = "borrower",
		[SNVME_SQ_CMB] = "cmb",
	};
	unsigned int a, b, c, d;
	u64 lba, used;
	char where[16], how[8];
	int placement, ret;

	p->result[0] = '\0';
	if (!strcmp(text, "attach")) {
		ret = probe_attach(p);
		if (ret)
			return ret;
		snprintf(p->result, sizeof(p->result),
			 "cntlid=%#x queue_pairs=%u max_entries=%u max_bytes=%u subnqn=%.128s\n",
			 le16_to_cpu(p->attached.cntlid),
			 le16_to_cpu(p->attached.queue_pairs),
			 le16_to_cpu(p->attached.max_entries),
			 le32_to_cpu(p->attached.max_bytes),
			 p->attached.subnqn);
		smartio_close(p->sdev);
		return 0;
	}
	if (sscanf(text, "pairs %15s %7s %u %u", where, how, &a, &b) == 4) {
		placement = match_string(placements, ARRAY_SIZE(placements),
					 where);
		if (placement < 0 || a > U16_MAX)
			return -EINVAL;
		return probe_pairs(p, placement, !strcmp(how, "irq"), a, b);
	}
	if (!strcmp(text, "over-quota"))
		return probe_over_quota(p);
	if (sscanf(text, "flood %u %u", &a, &b) == 2)
		return probe_flood(p, a, b);
	if (sscanf(text, "hostile %u %u", &a, &b) == 2)
		return probe_hostile(p, a, b);
	if (sscanf(text, "admin %u %u %u %u", &a, &b, &c, &d) == 4)
		return probe_admin(p, a, b, c, d);
	if (sscanf(text, "reserve %u", &a) == 1 && a && a <= U16_MAX)
		return probe_reserve(p, a);
	if (!strcmp(text, "leave")) {
		probe_leave(p);
		return 0;
	}
	if (sscanf(text, "unmapped at %llx %llu %u", &used, &lba, &a) == 3)
		return probe_unmapped(p, used, lba, a);
	return -EINVAL;
}

static ssize_t run_write(struct file *file, const char __user *user,
			 size_t size, loff_t *pos)
{
	struct probe *p = file->private_data;
	char *text;
	int ret;

	if (size > 128)
		return -EINVAL;
	text = memdup_user_nul(user, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&p->lock);
	ret = probe_run(p, strim(text));
	mutex_unlock(&p->lock);
	kfree(text);
	return ret ? ret : size;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int result_show(struct seq_file *m, void *unused)
{
	struct probe *p = m->private;

	mutex_lock(&p->lock);
	seq_puts(m, p->result);
	mutex_unlock(&p->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int probe_probe(struct smartio_device *sdev)
{
	struct probe *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	p->sdev = sdev;
	mutex_init(&p->lock);
	p->message = kvzalloc(SMARTIO_MESSAGE_MAX, GFP_KERNEL);
	p->reply = kvzalloc(SMARTIO_MESSAGE_MAX, GFP_KERNEL);
	if (!p->message || !p->reply) {
		kvfree(p->message);
		kvfree(p->reply);
		kfree(p);
		return -ENOMEM;
	}
	dev_set_drvdata(&sdev->dev, p);
	p->dir = debugfs_create_dir(dev_name(&sdev->dev), probe_dir);
	debugfs_create_file("run", 0200, p->dir, p, &run_fops);
	debugfs_create_file("result", 0400, p->dir, p, &result_fops);
	return 0;
}

static void probe_remove(struct smartio_device *sdev)
{
	struct probe *p = dev_get_drvdata(&sdev->dev);

	/* Waits for users of the files. */
	debugfs_remove_recursive(p->dir);
	probe_leave(p);
	kvfree(p->message);
	kvfree(p->reply);
	kfree(p);
}

static void probe_event(struct smartio_device *sdev, enum smartio_event event)
{
}

static void probe_notify(struct smartio_device *sdev, const void *message,
			 size_t size)
{
	struct probe *p = dev_get_drvdata(&sdev->dev);

	atomic_inc(&p->notes);
}

static struct smartio_driver probe_driver = {
	.driver = { .name = "snvme_probe", .owner = THIS_MODULE },
	.service = SNVME_SERVICE,
	.probe = probe_probe,
	.remove = probe_remove,
	.event = probe_event,
	.notify = probe_notify,
};

static int __init probe_init(void)
{
	int ret;

	probe_dir = debugfs_create_dir("snvme_probe", NULL);
	ret = smartio_register_driver(&probe_driver);
	if (ret)
		debugfs_remove_recursive(probe_dir);
	return ret;
}

static void __exit probe_exit(void)
{
	smartio_unregister_driver(&probe_driver);
	debugfs_remove_recursive(probe_dir);
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_DESCRIPTION("smartio: test client of the NVMe manager");
MODULE_LICENSE("GPL");
