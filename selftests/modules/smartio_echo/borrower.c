// SPDX-License-Identifier: GPL-2.0
/*
 * The borrower's half. Each path has a folder in debugfs, smartio_echo/PATH:
 *
 *   run     what to do: writing fails with the error that was seen
 *             open, close
 *             calls N       N calls of sizes up to the largest, answers checked
 *             flood N       N calls from four threads at once
 *             sleep MS LIMIT  a call that takes MS, with a deadline of LIMIT
 *             notify N SIZE   N notifications, in order
 *             store SIZE    the device stores in memory of this host
 *             map SIZE      and in pages mapped by the DMA API
 *             segment SIZE  the device reads what this host stored beside it
 *             bar           registers are mapped and, once, read
 *             irq           the device interrupts this host
 *             fail ERROR    the lender answers with that error
 *             call SIZE     one call of that size
 *             suspend MS    the lender suspends the device for so long
 *   state   session, events seen so far, last
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "smartio_echo.h"

#define ECHO_TIMEOUT_MS	10000

struct echo_path {
	struct smartio_device *sdev;
	struct dentry *dir;
	struct mutex lock;	/* one command at a time */
	atomic_t lost;
	atomic_t ready;
	atomic_t notes;
	atomic_t disorder;
	atomic_t interrupts;
	wait_queue_head_t wait;
	struct smartio_segment held;
	void __iomem *held_bar;
	struct work_struct stop;
	struct smartio_irq irq;
	int irq_cpu;			/* where the last one came */
};

static int echo_simple(struct echo_path *path, struct echo_request *request,
		       u64 *value)
{
	size_t size = sizeof(*value);
	int ret;

	ret = smartio_call(path->sdev, request, sizeof(*request), value, &size,
			   ECHO_TIMEOUT_MS);
	if (!ret && size != sizeof(*value))
		return -EPROTO;
	return ret;
}

static int echo_call(struct echo_path *path, size_t size, u32 seed)
{
	size_t i, bytes, reply_size = SMARTIO_MESSAGE_MAX;
	struct echo_request *request;
	u8 *reply;
	int ret = -ENOMEM;

	size = max(size, sizeof(*request));
	bytes = size - sizeof(*request);
	request = kvzalloc(size, GFP_KERNEL);
	reply = kvzalloc(SMARTIO_MESSAGE_MAX, GFP_KERNEL);
	if (!request || !reply)
		goto out;
	request->op = ECHO_INVERT;
	for (i = 0; i < bytes; i++)
		request->data[i] = seed + i * 7;
	ret = smartio_call(path->sdev, request, size, reply, &reply_size,
			   ECHO_TIMEOUT_MS);
	if (ret)
		goto out;
	if (reply_size != bytes)
		ret = -EPROTO;
	for (i = 0; i < bytes && !ret; i++)
		if (reply[i] != (u8)~request->data[i])
			ret = -EBADMSG;
out:
	kvfree(request);
	kvfree(reply);
	return ret;
}

static int echo_calls(struct echo_path *path, unsigned int count)
{
	static const size_t sizes[] = {
		0, 33, 64, 127, 4096, 5000, 65536, SMARTIO_MESSAGE_MAX - 1,
		SMARTIO_MESSAGE_MAX,
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < count && !ret; i++)
		ret = echo_call(path, sizes[i % ARRAY_SIZE(sizes)], i);
	return ret;
}

struct echo_flood {
	struct echo_path *path;
	unsigned int count;
	int ret;
	struct completion done;
};

static int echo_flood_thread(void *data)
{
	struct echo_flood *flood = data;

	flood->ret = echo_calls(flood->path, flood->count);
	complete(&flood->done);
	return 0;
}

static int echo_flood(struct echo_path *path, unsigned int count)
{
	struct echo_flood floods[4];
	struct task_struct *task;
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(floods); i++) {
		floods[i].path = path;
		floods[i].count = count;
		floods[i].ret = 0;
		init_completion(&floods[i].done);
		task = kthread_run(echo_flood_thread, &floods[i], "echo/%d", i);
		if (IS_ERR(task)) {
			floods[i].ret = PTR_ERR(task);
			complete(&floods[i].done);
		}
	}
	for (i = 0; i < ARRAY_SIZE(floods); i++) {
		wait_for_completion(&floods[i].done);
		if (floods[i].ret)
			ret = floods[i].ret;
	}
	return ret;
}

static int echo_sleep(struct echo_path *path, unsigned int ms,
		      unsigned int limit)
{
	struct echo_request request = { .op = ECHO_SLEEP, .a = ms };

	return smartio_call(path->sdev, &request, sizeof(request), NULL, NULL,
			    limit);
}

static int echo_notes(struct echo_path *path, unsigned int count, size_t size)
{
	struct echo_request *request;
	int ret;

	if (size > SMARTIO_MESSAGE_MAX - sizeof(*request))
		return -EINVAL;
	request = kvzalloc(sizeof(*request) + size, GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	request->op = ECHO_NOTIFY;
	request->a = count;
	atomic_set(&path->notes, 0);
	ret = smartio_call(path->sdev, request, sizeof(*request) + size, NULL,
			   NULL, ECHO_TIMEOUT_MS);
	kvfree(request);
	if (ret)
		return ret;
	if (!wait_event_timeout(path->wait, atomic_read(&path->notes) == count,
				5 * HZ))
		return -ETIME;
	return atomic_read(&path->disorder) ? -EILSEQ : 0;
}

static int echo_store_at(struct echo_path *path, dma_addr_t addr, u8 *cpu,
			 size_t size, struct sg_table *sgt)
{
	struct echo_request request = {
		.op = ECHO_STORE, .a = addr, .size = size, .c = 0xa5,
	};
	struct device *dev = smartio_dma_device(path->sdev);
	u64 value;
	size_t i;
	int ret;

	ret = echo_simple(path, &request, &value);
	if (ret)
		return ret;
	if (sgt)
		dma_sync_sgtable_for_cpu(dev, sgt, DMA_FROM_DEVICE);
	/* the reply came after the stores, on the same path */
	for (i = 0; i < size; i++)
		if (READ_ONCE(cpu[i]) != 0xa5)
			return -EBADMSG;
	return 0;
}

static int echo_store(struct echo_path *path, size_t size)
{
	dma_addr_t addr;
	u8 *cpu = smartio_dma_alloc(path->sdev, size, &addr, GFP_KERNEL);
	int ret;

	if (!cpu)
		return -ENOMEM;
	ret = echo_store_at(path, addr, cpu, size, NULL);
	smartio_dma_free(path->sdev, size, cpu, addr);
	return ret;
}

static int echo_map(struct echo_path *path, size_t size)
{
	struct device *dev = smartio_dma_device(path->sdev);
	struct sg_table sgt;
	struct page *page;
	unsigned int order = get_order(size);
	int ret = -ENOMEM;

	if (!smartio_dma_scattered(path->sdev))
		return -EOPNOTSUPP;
	page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, order);
	if (!page)
		return ret;
	ret = sg_alloc_table_from_pages(&sgt, &page, 1, 0, PAGE_SIZE,
					GFP_KERNEL);
	if (ret)
		goto free;
	ret = dma_map_sgtable(dev, &sgt, DMA_FROM_DEVICE, 0);
	if (ret)
		goto free_table;
	ret = echo_store_at(path, sg_dma_address(sgt.sgl), page_address(page),
			    min_t(size_t, size, PAGE_SIZE), &sgt);
	dma_unmap_sgtable(dev, &sgt, DMA_FROM_DEVICE, 0);
free_table:
	sg_free_table(&sgt);
free:
	__free_pages(page, order);
	return ret;
}

static int echo_segment(struct echo_path *path, size_t size)
{
	struct echo_request request = { .op = ECHO_SUM, .size = size };
	struct smartio_segment segment;
	u64 sum = 0, seen = 0;
	u32 *pattern;
	size_t i;
	int ret;

	size = round_up(size, 4);
	request.size = size;
	pattern = kvmalloc(size, GFP_KERNEL);
	if (!pattern)
		return -ENOMEM;
	for (i = 0; i < size / 4; i++)
		pattern[i] = i * 2654435761U;
	for (i = 0; i < size; i++)
		sum += ((u8 *)pattern)[i];
	ret = smartio_segment_alloc(path->sdev, size, SMARTIO_DEVICE_READS,
				    &segment);
	if (ret)
		goto free;
	if (segment.io)
		memcpy_toio(segment.io, pattern, size);
	else
		memcpy(segment.cpu, pattern, size);
	wmb();	/* out of the write-combining buffers */
	request.a = segment.handle;
	ret = echo_simple(path, &request, &seen);
	if (!ret && seen != sum)
		ret = -EBADMSG;
	request.size = segment.size + 1;
	if (!ret && echo_simple(path, &request, &seen) != -ERANGE)
		ret = -EPROTO;
	smartio_segment_free(path->sdev, &segment);
free:
	kvfree(pattern);
	return ret;
}

static int echo_bar(struct echo_path *path)
{
	void __iomem *io, *other;
	u32 first;

	io = smartio_map_bar(path->sdev, 0, 0, ECHO_BAR_SIZE, false);
	if (IS_ERR((__force void *)io))
		return PTR_ERR((__force void *)io);
	first = readl(io);
	smartio_unmap_bar(path->sdev, io);
	other = smartio_map_bar(path->sdev, 0, ECHO_BAR_SIZE, ECHO_BAR_SIZE,
				false);
	if (PTR_ERR((__force void *)other) != -EACCES)
		return -EPROTO;
	/* a load over a link may get no answer: it only must not hang */
	return path->sdev->local && first == ~0U ? -EIO : 0;
}

/* Maps a segment and registers that stay mapped after the session is over. */
static int echo_hold(struct echo_path *path, size_t size)
{
	void __iomem *bar;
	int ret;

	if (path->held_bar)
		return -EBUSY;
	ret = smartio_segment_alloc(path->sdev, size, SMARTIO_DEVICE_READS,
				    &path->held);
	if (ret)
		return ret;
	bar = smartio_map_bar(path->sdev, 0, 0, ECHO_BAR_SIZE, false);
	if (IS_ERR((__force void *)bar)) {
		smartio_segment_free(path->sdev, &path->held);
		return PTR_ERR((__force void *)bar);
	}
	path->held_bar = bar;
	return 0;
}

/* Writes as a driver does that has not yet noticed the end of its session. */
static int echo_late(struct echo_path *path)
{
	if (!path->held_bar || !path->held.io)
		return -EINVAL;
	memset_io(path->held.io, 0xA5, path->held.size);
	/* CAP, which is read-only */
	writel(0xA5A5A5A5, path->held_bar);
	return 0;
}

static void echo_drop(struct echo_path *path)
{
	if (!path->held_bar)
		return;
	smartio_unmap_bar(path->sdev, path->held_bar);
	smartio_segment_free(path->sdev, &path->held);
	path->held_bar = NULL;
}

static irqreturn_t echo_interrupt(int virq, void *context)
{
	struct echo_path *path = context;

	WRITE_ONCE(path->irq_cpu, smp_processor_id());
	atomic_inc(&path->interrupts);
	wake_up(&path->wait);
	return IRQ_HANDLED;
}

/* Lets the device interrupt this host, which has to be on @cpu. */
static int echo_raise(struct echo_path *path, u64 vector, int cpu)
{
	struct echo_request request = { .op = ECHO_RAISE, .a = vector };
	u64 unused;
	int ret;

	atomic_set(&path->interrupts, 0);
	ret = echo_simple(path, &request, &unused);
	if (!ret && !wait_event_timeout(path->wait,
					atomic_read(&path->interrupts), 2 * HZ))
		ret = -ETIME;
	if (!ret && READ_ONCE(path->irq_cpu) != cpu)
		ret = -EXDEV;
	return ret;
}

/* The interrupt comes, and follows when it is moved to another CPU. */
static int echo_irq(struct echo_path *path)
{
	struct echo_request request = { .op = ECHO_SET_IRQ };
	struct smartio_irq_message message;
	struct smartio_irq *irq = &path->irq;
	u64 vector = 0, unused;
	int ret, i, cpu = 0;

	ret = smartio_irq_alloc(path->sdev, cpumask_of(0), echo_interrupt,
				"smartio_echo", path, irq);
	if (ret)
		return ret;
	smartio_irq_message(irq, &message);
	request.a = message.addr;
	request.c = message.data;
	ret = echo_simple(path, &request, &vector);
	if (ret)
		goto free;
	smartio_irq_sent(irq, vector, &message);
	for (i = 0; i < 10 && !ret && !path->sdev->local; i++) {
		ret = echo_raise(path, vector, cpu);
		if (ret)
			break;
		cpu = (cpu + 1) % num_online_cpus();
		ret = irq_set_affinity(irq->virq, cpumask_of(cpu));
		smartio_irq_settle();
		/* a move ends with an interrupt of its own */
		msleep(20);
	}
	request.op = ECHO_CLEAR_IRQ;
	request.a = vector;
	echo_simple(path, &request, &unused);
free:
	smartio_irq_free(path->sdev, irq);
	return ret;
}

static int echo_one(struct echo_path *path, enum echo_op op, u64 a)
{
	struct echo_request request = { .op = op, .a = a };
	u64 value;

	return echo_simple(path, &request, &value);
}

static int echo_run(struct echo_path *path, const char *line)
{
	unsigned int a = 0, b = 0;
	char word[16] = "";

	if (sscanf(line, "%15s %u %u", word, &a, &b) < 1)
		return -EINVAL;
	if (!strcmp(word, "open"))
		return smartio_open(path->sdev);
	if (!strcmp(word, "close")) {
		smartio_close(path->sdev);
		return 0;
	}
	if (!strcmp(word, "call"))
		return echo_call(path, a, 1);
	if (!strcmp(word, "calls"))
		return echo_calls(path, a);
	if (!strcmp(word, "flood"))
		return echo_flood(path, a);
	if (!strcmp(word, "sleep"))
		return echo_sleep(path, a, b);
	if (!strcmp(word, "notify"))
		return echo_notes(path, a, b);
	if (!strcmp(word, "store"))
		return echo_store(path, a);
	if (!strcmp(word, "map"))
		return echo_map(path, a);
	if (!strcmp(word, "segment"))
		return echo_segment(path, a);
	if (!strcmp(word, "bar"))
		return echo_bar(path);
	if (!strcmp(word, "hold"))
		return echo_hold(path, a);
	if (!strcmp(word, "late"))
		return echo_late(path);
	if (!strcmp(word, "drop")) {
		echo_drop(path);
		return 0;
	}
	if (!strcmp(word, "irq"))
		return echo_irq(path);
	if (!strcmp(word, "fail"))
		return echo_one(path, ECHO_FAIL, a);
	if (!strcmp(word, "suspend"))
		return echo_one(path, ECHO_SUSPEND, a);
	return -EINVAL;
}

static ssize_t echo_run_write(struct file *file, const char __user *from,
			      size_t count, loff_t *pos)
{
	struct echo_path *path = file->private_data;
	char line[64] = "";
	int ret;

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, count))
		return -EFAULT;
	mutex_lock(&path->lock);
	ret = echo_run(path, line);
	mutex_unlock(&path->lock);
	return ret ? ret : count;
}

static const struct file_operations echo_run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = echo_run_write,
};

static int echo_state_show(struct seq_file *s, void *unused)
{
	struct echo_path *path = s->private;

	seq_printf(s, "session=%#llx up=%d lost=%d ready=%d scattered=%d\n",
		   smartio_session_id(path->sdev), smartio_link_up(path->sdev),
		   atomic_read(&path->lost), atomic_read(&path->ready),
		   smartio_dma_scattered(path->sdev));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(echo_state);

static void echo_stop(struct work_struct *work)
{
	struct echo_path *path = container_of(work, struct echo_path, stop);

	smartio_close(path->sdev);
}

static int echo_borrower_probe(struct smartio_device *sdev)
{
	struct echo_path *path = kzalloc(sizeof(*path), GFP_KERNEL);

	if (!path)
		return -ENOMEM;
	path->sdev = sdev;
	mutex_init(&path->lock);
	init_waitqueue_head(&path->wait);
	INIT_WORK(&path->stop, echo_stop);
	dev_set_drvdata(&sdev->dev, path);
	path->dir = debugfs_create_dir(dev_name(&sdev->dev), echo_root);
	debugfs_create_file("run", 0200, path->dir, path, &echo_run_fops);
	debugfs_create_file("state", 0400, path->dir, path, &echo_state_fops);
	return 0;
}

static void echo_borrower_remove(struct smartio_device *sdev)
{
	struct echo_path *path = dev_get_drvdata(&sdev->dev);

	debugfs_remove_recursive(path->dir);
	cancel_work_sync(&path->stop);
	echo_drop(path);
	smartio_close(sdev);
	kfree(path);
}

static void echo_borrower_event(struct smartio_device *sdev,
				enum smartio_event event)
{
	struct echo_path *path = dev_get_drvdata(&sdev->dev);

	atomic_inc(event == SMARTIO_LOST ? &path->lost : &path->ready);
	/* a held mapping is written to for longer than it should be */
	if (event == SMARTIO_LOST && !smartio_link_up(sdev) && !path->held_bar)
		schedule_work(&path->stop);
	if (event == SMARTIO_LOST && smartio_session_id(sdev))
		dev_err(&sdev->dev, "lost, with a session open\n");
}

static void echo_borrower_notify(struct smartio_device *sdev,
				 const void *message, size_t size)
{
	struct echo_path *path = dev_get_drvdata(&sdev->dev);
	u64 number;

	if (size < sizeof(number))
		return;
	memcpy(&number, message, sizeof(number));
	if (number != atomic_read(&path->notes))
		atomic_inc(&path->disorder);
	atomic_inc(&path->notes);
	wake_up(&path->wait);
}

static struct smartio_driver echo_driver = {
	.driver = {
		.name = "smartio_echo",
		.owner = THIS_MODULE,
	},
	.service = ECHO_SERVICE,
	.probe = echo_borrower_probe,
	.remove = echo_borrower_remove,
	.event = echo_borrower_event,
	.notify = echo_borrower_notify,
};

int __init echo_borrower_init(void)
{
	return smartio_register_driver(&echo_driver);
}

void echo_borrower_exit(void)
{
	smartio_unregister_driver(&echo_driver);
}
