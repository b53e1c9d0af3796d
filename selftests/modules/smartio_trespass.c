// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_trespass - a borrower's kernel that exceeds its session's rights.
 * In debugfs:
 *
 *   smartio_trespass/store	write PHYSICAL-ADDRESS VALUE: a store of 32 bits,
 *				there, of this host's CPU
 *   smartio_trespass/load	write PHYSICAL-ADDRESS; read: the value there
 *   smartio_trespass/page	the physical address of a page of this host's
 *   smartio_trespass/canary	the first 32 bits of that page
 *
 * It takes paths to functions that are lent as a whole, so smartio_pci must not
 * be loaded. For each:
 *
 *   smartio_trespass/NAME/claim	write SESSION: sends all requests of a
 *				session in this one; read: "REQUEST ANSWER", a
 *				line each, an answer is 0 or a negative error
 */
#include <linux/debugfs.h>
#include <linux/io.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smartio.h>
#include <linux/uaccess.h>

#include "../../drivers/smartio/path.h"
#include "../../drivers/smartio_pci/proto.h"

#define CALL_MS		10000

/**
 * struct trespass - a path to a function
 * @sdev: the path
 * @folder: its own
 * @lock: protects @said
 * @said: answers
 */
struct trespass {
	struct smartio_device *sdev;
	struct dentry *folder;
	struct mutex lock;	/* said */
	char said[512];
};

static struct dentry *trespass_folder;
static u32 trespass_loaded;
static u32 *trespass_page;
static u64 trespass_page_phys;

/* ---- stores and loads ---- */

static int trespass_word(const char __user *from, size_t count, char *to,
			 size_t size)
{
	if (count >= size)
		return -EINVAL;
	if (copy_from_user(to, from, count))
		return -EFAULT;
	to[count] = '\0';
	return 0;
}

static int trespass_access(phys_addr_t phys, bool store, u32 *value)
{
	void __iomem *page = ioremap(phys & PAGE_MASK, PAGE_SIZE);

	if (!page)
		return -ENOMEM;
	if (store)
		writel(*value, page + offset_in_page(phys));
	else
		*value = readl(page + offset_in_page(phys));
	iounmap(page);
	return 0;
}

static ssize_t trespass_store_write(struct file *file, const char __user *from,
				    size_t count, loff_t *at)
{
	char text[64];
	u32 value;
	u64 phys;
	int ret = trespass_word(from, count, text, sizeof(text));

	if (!ret && sscanf(text, "%lli %i", &phys, &value) != 2)
		ret = -EINVAL;
	if (!ret)
		ret = trespass_access(phys, true, &value);
	return ret ?: count;
}

static const struct file_operations trespass_store_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = trespass_store_write,
};

static ssize_t trespass_load_write(struct file *file, const char __user *from,
				   size_t count, loff_t *at)
{
	char text[64];
	u64 phys;
	int ret = trespass_word(from, count, text, sizeof(text));

	if (!ret)
		ret = kstrtou64(strim(text), 0, &phys);
	if (!ret)
		ret = trespass_access(phys, false, &trespass_loaded);
	return ret ?: count;
}

static ssize_t trespass_load_read(struct file *file, char __user *to,
				  size_t count, loff_t *at)
{
	char text[16];
	int length = scnprintf(text, sizeof(text), "%#x\n", trespass_loaded);

	return simple_read_from_buffer(to, count, at, text, length);
}

static const struct file_operations trespass_load_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = trespass_load_read,
	.write = trespass_load_write,
};

/* ---- another's session ---- */

static void trespass_says(struct trespass *t, const char *request, int answer)
{
	size_t length = strlen(t->said);

	scnprintf(t->said + length, sizeof(t->said) - length, "%s %d\n",
		  request, answer);
}

static void trespass_call(struct trespass *t, u64 id, const char *name,
			  const void *request, size_t size)
{
	struct smartio_path *path = to_path(t->sdev);
	size_t reply_size = SMARTIO_MESSAGE_MAX;
	void *reply = kzalloc(reply_size, GFP_KERNEL);

	if (reply)
		trespass_says(t, name,
			      path->ops->call(path, id, request, size, reply,
					      &reply_size, CALL_MS));
	kfree(reply);
}

/* Sends requests to the lender's half. */
static void trespass_requests(struct trespass *t, u64 id)
{
	struct spci_describe_req describe = {
		.op = cpu_to_le16(SPCI_DESCRIBE),
		.version = cpu_to_le16(SPCI_VERSION),
	};
	struct spci_master_req master = {
		.op = cpu_to_le16(SPCI_MASTER),
		.on = cpu_to_le16(1),
	};
	struct spci_msi_req msi = { .op = cpu_to_le16(SPCI_MSI) };
	struct spci_reset_req reset = { .op = cpu_to_le16(SPCI_RESET) };

	trespass_call(t, id, "describe", &describe, sizeof(describe));
	trespass_call(t, id, "master", &master, sizeof(master));
	trespass_call(t, id, "msi", &msi, sizeof(msi));
	trespass_call(t, id, "reset", &reset, sizeof(reset));
}

/* Sends requests to the core. */
static void trespass_core(struct trespass *t, u64 id)
{
	struct smartio_path *path = to_path(t->sdev);
	struct smartio_irq_message from = {}, to = {};
	struct smartio_segment segment = { .size = SZ_4K };
	struct smartio_space space = { .size = SZ_1M };
	phys_addr_t phys;

	trespass_says(t, "registers",
		      path->ops->bar_phys(path, id, 0, 0, SZ_4K, &phys));
	trespass_says(t, "addresses",
		      path->ops->own_addresses(path, id, &space));
	trespass_says(t, "segment",
		      path->ops->segment_alloc(path, id, &segment));
	trespass_says(t, "interrupt",
		      path->ops->irq_move(path, id, 0, &from, &to,
					   CALL_MS));
	trespass_says(t, "revoke", path->ops->revoke(path, id));
	/* and its end, a request without a reply */
	path->ops->stopped(path, id);
}

static ssize_t trespass_claim_write(struct file *file, const char __user *from,
				    size_t count, loff_t *at)
{
	struct trespass *t = file->private_data;
	char text[32];
	u64 id;
	int ret = trespass_word(from, count, text, sizeof(text));

	if (!ret)
		ret = kstrtou64(strim(text), 0, &id);
	if (ret)
		return ret;
	mutex_lock(&t->lock);
	t->said[0] = '\0';
	trespass_requests(t, id);
	trespass_core(t, id);
	mutex_unlock(&t->lock);
	return count;
}

static ssize_t trespass_claim_read(struct file *file, char __user *to,
				   size_t count, loff_t *at)
{
	struct trespass *t = file->private_data;
	ssize_t length;

	mutex_lock(&t->lock);
	length = simple_read_from_buffer(to, count, at, t->said,
					 strlen(t->said));
	mutex_unlock(&t->lock);
	return length;
}

static const struct file_operations trespass_claim_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = trespass_claim_read,
	.write = trespass_claim_write,
};

static int trespass_probe(struct smartio_device *sdev)
{
	struct trespass *t;

	if (sdev->local)
		return -ENODEV;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	t->sdev = sdev;
	mutex_init(&t->lock);
	dev_set_drvdata(&sdev->dev, t);
	t->folder = debugfs_create_dir(dev_name(&sdev->dev), trespass_folder);
	debugfs_create_file("claim", 0600, t->folder, t, &trespass_claim_fops);
	return 0;
}

static void trespass_remove(struct smartio_device *sdev)
{
	struct trespass *t = dev_get_drvdata(&sdev->dev);

	debugfs_remove_recursive(t->folder);
	kfree(t);
}

static void trespass_event(struct smartio_device *sdev,
			   enum smartio_event event)
{
	if (event != SMARTIO_READY)
		smartio_close(sdev);
}

static struct smartio_driver trespass_driver = {
	.driver = {
		.name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
	},
	.service = SPCI_SERVICE,
	.probe = trespass_probe,
	.remove = trespass_remove,
	.event = trespass_event,
};

static int __init trespass_init(void)
{
	int ret;

	trespass_page = (u32 *)get_zeroed_page(GFP_KERNEL);
	if (!trespass_page)
		return -ENOMEM;
	trespass_page_phys = virt_to_phys(trespass_page);
	trespass_folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("store", 0200, trespass_folder, NULL,
			    &trespass_store_fops);
	debugfs_create_file("load", 0600, trespass_folder, NULL,
			    &trespass_load_fops);
	debugfs_create_x64("page", 0400, trespass_folder, &trespass_page_phys);
	debugfs_create_x32("canary", 0600, trespass_folder, trespass_page);
	ret = smartio_register_driver(&trespass_driver);
	if (ret) {
		debugfs_remove_recursive(trespass_folder);
		free_page((unsigned long)trespass_page);
	}
	return ret;
}
module_init(trespass_init);

static void __exit trespass_exit(void)
{
	smartio_unregister_driver(&trespass_driver);
	debugfs_remove_recursive(trespass_folder);
	free_page((unsigned long)trespass_page);
}
module_exit(trespass_exit);

MODULE_DESCRIPTION("smartio: a borrower that reaches for what it was not given");
MODULE_LICENSE("GPL");
