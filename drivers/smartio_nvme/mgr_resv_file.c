// SPDX-License-Identifier: GPL-2.0
/*
 * Reservations that persist through a loss of power (PTPL): a file on the
 * lender for each drive. It has two places, written in turn, each with a
 * number and a checksum: if writing one fails, the other is whole.
 */
#include <linux/crc32.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smartio_compat.h>
#include <linux/smartio_recovery.h>

#include "mgr.h"

static char *state_dir = "/var/lib/smartio";
module_param(state_dir, charp, 0444);
MODULE_PARM_DESC(state_dir, "folder for reservations that survive a loss of power (default /var/lib/smartio)");

#define MAGIC		0x56534552	/* "RESV" */
#define VERSION		1
#define PLACE_BYTES	SZ_1M

/**
 * struct resv_file_head - before each of the two places' namespaces
 * @magic: MAGIC
 * @version: VERSION
 * @sequence: the larger one counts
 * @bytes: that follow
 * @crc: crc32 (seed ~0) of this with @crc 0, and of the bytes that follow
 */
struct resv_file_head {
	__le32 magic;
	__le32 version;
	__le64 sequence;
	__le32 bytes;
	__le32 crc;
};

static u32 mgr_resv_crc(const struct resv_file_head *head, const void *data)
{
	struct resv_file_head copy = *head;

	copy.crc = 0;
	return crc32_le(crc32_le(~0U, (u8 *)&copy, sizeof(copy)), data,
			le32_to_cpu(head->bytes));
}

/* A file for each subsystem; its name has nothing in it that a path has. */
static struct file *mgr_resv_open(struct mgr *m, int flags)
{
	struct file *file;
	char *name, *c;

	name = kasprintf(GFP_KERNEL, "%s/reservations-%s", state_dir,
			 m->subnqn);
	if (!name)
		return ERR_PTR(-ENOMEM);
	for (c = name + strlen(state_dir) + 1; *c; c++)
		if (*c == '/')
			*c = '_';
	file = compat_filp_open(name, flags | O_LARGEFILE, 0600);
	kfree(name);
	return file;
}

static size_t mgr_resv_bytes(const struct resv_ns *ns)
{
	return ns->ptpl ? resv_packed_size(ns) : 0;
}

/* All that persist, @changed as it is about to be; its bytes. */
static size_t mgr_resv_pack_all(struct mgr *m, const struct resv_ns *changed,
				void *data)
{
	struct mgr_resv *resv;
	size_t bytes = 0;

	list_for_each_entry(resv, &m->resv, entry) {
		const struct resv_ns *ns = resv->ns.nsid == changed->nsid ?
					   changed : &resv->ns;

		if (data && ns->ptpl)
			resv_pack(ns, data + bytes);
		bytes += mgr_resv_bytes(ns);
	}
	return bytes;
}

static int mgr_resv_write(struct file *file, const void *data, size_t bytes,
			  loff_t at)
{
	ssize_t done = kernel_write(file, data, bytes, &at);

	if (done == bytes)
		return 0;
	return done < 0 ? done : -ENOSPC;
}

/* The content of a place; NULL: it is not whole; or an error. */
static struct resv_file_head *mgr_resv_read(struct file *file, int place)
{
	struct resv_file_head head, *all;
	loff_t at = place * PLACE_BYTES;
	ssize_t done;
	size_t bytes;

	done = kernel_read(file, &head, sizeof(head), &at);
	if (done < 0)
		return ERR_PTR(done);
	if (done != sizeof(head) || le32_to_cpu(head.magic) != MAGIC ||
	    le32_to_cpu(head.version) != VERSION)
		return NULL;
	bytes = le32_to_cpu(head.bytes);
	if (bytes > PLACE_BYTES - sizeof(head))
		return NULL;
	all = kvzalloc(sizeof(head) + bytes, GFP_KERNEL);
	if (!all)
		return ERR_PTR(-ENOMEM);
	*all = head;
	done = kernel_read(file, all + 1, bytes, &at);
	if (done != bytes ||
	    le32_to_cpu(head.crc) != mgr_resv_crc(&head, all + 1)) {
		kvfree(all);
		return done < 0 ? ERR_PTR(done) : NULL;
	}
	return all;
}

/* The newer one that is whole, or an error: there has to be one. */
static struct resv_file_head *mgr_resv_newest(struct file *file)
{
	struct resv_file_head *a = mgr_resv_read(file, 0);
	struct resv_file_head *b = mgr_resv_read(file, 1);
	struct resv_file_head *newer = a;

	if (IS_ERR(a) || IS_ERR(b))
		newer = IS_ERR(a) ? a : b;
	else if (!a && !b)
		newer = ERR_PTR(-EUCLEAN);
	else if (!a || (b && le64_to_cpu(b->sequence) >
			     le64_to_cpu(a->sequence)))
		newer = b;
	if (!IS_ERR(a) && a != newer)
		kvfree(a);
	if (!IS_ERR(b) && b != newer)
		kvfree(b);
	return newer;
}

static int mgr_resv_unpack_all(struct mgr *m, const void *data, size_t size)
{
	while (size) {
		struct mgr_resv *resv = kvzalloc(sizeof(*resv), GFP_KERNEL);
		size_t used;

		if (!resv)
			return -ENOMEM;
		used = resv_unpack(data, size, &resv->ns);
		if (!used) {
			kvfree(resv);
			return -EUCLEAN;
		}
		list_add_tail(&resv->entry, &m->resv);
		data += used;
		size -= used;
	}
	return 0;
}

/*
 * Whether it is certain that nothing was written: the folder, which comes with
 * the installation, is there, and has no file. A folder that can't be seen (not
 * mounted yet, another root) may have one. Return: 0 or an error.
 */
static int mgr_resv_nothing(void)
{
	struct file *folder = compat_filp_open(state_dir,
					       O_RDONLY | O_DIRECTORY, 0);

	if (IS_ERR(folder))
		return PTR_ERR(folder);
	filp_close(folder, NULL);
	return 0;
}

/*
 * Reads the file, before the drive is exported. Without it, hosts would be
 * admitted that a reservation excludes. So the drive isn't exported if there is
 * a file that can't be read. Sleeps. Return: 0, also without a file in the
 * folder; or an error.
 */
int mgr_resv_load(struct mgr *m)
{
	struct file *file = mgr_resv_open(m, O_RDONLY);
	struct resv_file_head *newest;
	int ret = PTR_ERR_OR_ZERO(file);

	if (ret == -ENOENT) {
		ret = mgr_resv_nothing();
		if (ret)
			dev_err(&m->pdev->dev,
				"the folder of reservations that persist, %s, can't be read (%d): not exported; make it if this host never had one\n",
				state_dir, ret);
		return ret;
	}
	if (!ret) {
		newest = mgr_resv_newest(file);
		filp_close(file, NULL);
		ret = PTR_ERR_OR_ZERO(newest);
		if (!ret) {
			m->resv_sequence = le64_to_cpu(newest->sequence);
			ret = mgr_resv_unpack_all(m, newest + 1,
						  le32_to_cpu(newest->bytes));
			kvfree(newest);
		}
	}
	if (ret)
		dev_err(&m->pdev->dev,
			"reservations that persist in %s can't be read (%d): not exported; if they don't matter any more remove the file\n",
			state_dir, ret);
	return ret;
}

/* The folder may be newer than mgr_resv_load(): so its file is read again. */
static u64 mgr_resv_sequence(struct mgr *m)
{
	struct file *file = mgr_resv_open(m, O_RDONLY);
	struct resv_file_head *newest;
	u64 last = m->resv_sequence;

	if (IS_ERR(file))
		return last;
	newest = mgr_resv_newest(file);
	filp_close(file, NULL);
	if (!IS_ERR(newest)) {
		last = max(last, le64_to_cpu(newest->sequence));
		kvfree(newest);
	}
	return last;
}

static int mgr_resv_do_save(struct mgr *m, const struct resv_ns *changed)
{
	size_t bytes = mgr_resv_pack_all(m, changed, NULL);
	struct resv_file_head *head;
	struct file *file = NULL;
	u64 sequence = mgr_resv_sequence(m) + 1;
	int ret = -ENOMEM;

	/* over the one that failed: what reads as whole may be in no medium */
	if (m->resv_unsaved && (sequence ^ m->resv_unsaved) & 1)
		sequence++;
	if (sizeof(*head) + bytes > PLACE_BYTES)
		return -EFBIG;
	head = kvzalloc(sizeof(*head) + bytes, GFP_KERNEL);
	if (!head)
		return ret;
	mgr_resv_pack_all(m, changed, head + 1);
	head->magic = cpu_to_le32(MAGIC);
	head->version = cpu_to_le32(VERSION);
	head->sequence = cpu_to_le64(sequence);
	head->bytes = cpu_to_le32(bytes);
	head->crc = cpu_to_le32(mgr_resv_crc(head, head + 1));
	file = mgr_resv_open(m, O_WRONLY | O_CREAT);
	ret = PTR_ERR_OR_ZERO(file);
	if (!ret) {
		ret = mgr_resv_write(file, head, sizeof(*head) + bytes,
				     (sequence & 1) * PLACE_BYTES);
		if (!ret)
			ret = vfs_fsync(file, 0);
		filp_close(file, NULL);
	}
	kvfree(head);
	m->resv_unsaved = ret ? sequence : 0;
	if (!ret)
		m->resv_sequence = sequence;
	else
		dev_err_ratelimited(m->ctrl.device,
				    "reservations that persist can't be written in %s: %d\n",
				    state_dir, ret);
	return ret;
}

/*
 * Writes the file, with a namespace as it is about to be. File systems refuse to
 * do that for recovery: so this waits for memory. Sleeps; of resv_wq, without a
 * lock. Return: 0: it is on the medium; or a negative error.
 */
int mgr_resv_save(struct mgr *m, const struct resv_ns *changed)
{
	unsigned int flags = smartio_recovery_pause();
	int ret = mgr_resv_do_save(m, changed);

	smartio_recovery_resume(flags);
	return ret;
}
