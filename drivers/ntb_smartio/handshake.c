// SPDX-License-Identifier: GPL-2.0
/*
 * How two sides find each other: scratchpads first, then a hello in the
 * bootstrap page. wire.h tells the whole of it.
 */
#include <linux/io.h>
#include <linux/module.h>

#include "link.h"

unsigned int link_heartbeat_ms = 100;
module_param_named(heartbeat_ms, link_heartbeat_ms, uint, 0444);
MODULE_PARM_DESC(heartbeat_ms, "how often each side of a link shows that it is alive");

static const char * const link_reasons[WIRE_REASONS] = {
	[WIRE_REASON_NONE] = "",
	[WIRE_REASON_VERSION] = "the two hosts speak different versions",
	[WIRE_REASON_FENCED] = "fenced",
	[WIRE_REASON_SAME_HOST] = "both sides have the same host UUID",
	[WIRE_REASON_BAD_HELLO] = "malformed hello",
	[WIRE_REASON_WINDOW] =
		"a memory window has no bus address, is too small, or can't be set to the address needed",
	[WIRE_REASON_GROUP] = "the NTB shares its IOMMU group with another device",
};

const char *link_reason_text(enum wire_reason reason)
{
	return reason < WIRE_REASONS ? link_reasons[reason] : "unknown reason";
}

/* Reads the peer's scratchpad values, which are in this host's own NTB. */
void link_spads_read(struct ntb_link *link, struct link_spads *spads)
{
	struct ntb_dev *ntb = link->ntb;
	u32 magic = ntb_spad_read(ntb, WIRE_SPAD_MAGIC);

	memset(spads, 0, sizeof(*spads));
	if (magic >> 16 != WIRE_MAGIC)
		return;
	spads->generation = ntb_spad_read(ntb, WIRE_SPAD_GENERATION);
	spads->echo = ntb_spad_read(ntb, WIRE_SPAD_ECHO);
	spads->boot = ntb_spad_read(ntb, WIRE_SPAD_BOOT);
	spads->flags = ntb_spad_read(ntb, WIRE_SPAD_FLAGS);
	spads->windows = ntb_spad_read(ntb, WIRE_SPAD_WINDOWS);
	/*
	 * The writer takes the magic away while it changes the rest; it may
	 * have begun and ended meanwhile.
	 */
	if (ntb_spad_read(ntb, WIRE_SPAD_BOOT) != spads->boot ||
	    ntb_spad_read(ntb, WIRE_SPAD_ECHO) != spads->echo ||
	    ntb_spad_read(ntb, WIRE_SPAD_MAGIC) != magic ||
	    ntb_spad_read(ntb, WIRE_SPAD_GENERATION) != spads->generation)
		return;
	if (spads->generation)
		spads->version = magic & 0xffff;
}

static void link_spad(struct ntb_link *link, enum wire_spad spad, u32 value)
{
	ntb_peer_spad_write(link->ntb, NTB_DEF_PEER_IDX, spad, value);
}

/*
 * Writes the state of this side for the peer. Repeated while the peer doesn't
 * answer: a write with the cable out is lost.
 */
void link_spads_write(struct ntb_link *link)
{
	u32 spads[WIRE_SPADS] = {
		[WIRE_SPAD_MAGIC] = WIRE_MAGIC << 16 | WIRE_VERSION,
		[WIRE_SPAD_GENERATION] = link->base.generation,
		[WIRE_SPAD_ECHO] = link->peer_generation,
		[WIRE_SPAD_BOOT] = (link->boot_dma - link->own[0].base) >>
				   WIRE_PAGE_SHIFT,
		[WIRE_SPAD_WINDOWS] = wire_windows_pack(link->window_size,
							link->windows),
	};
	u32 flags = link->open ? WIRE_OPEN : 0;
	int i;

	if (link->writes)
		flags |= WIRE_WRITES;
	/* nothing is open then, and the peer doesn't need the boot page */
	if (!link->open && link->base.fenced && READ_ONCE(link->rejoin)) {
		spads[WIRE_SPAD_BOOT] = link->base.self->incarnation;
		spads[WIRE_SPAD_ECHO] = wire_uuid_crc(&link->base.self->uuid);
		flags |= WIRE_REJOIN;
	}
	spads[WIRE_SPAD_FLAGS] = WIRE_FLAGS(flags, link->refusal,
					    link->own[0].mw);
	if (memcmp(spads, link->spads, sizeof(spads)))
		link_spad(link, WIRE_SPAD_MAGIC, 0);
	for (i = WIRE_SPADS - 1; i > 0; i--)
		link_spad(link, i, spads[i]);
	link_spad(link, WIRE_SPAD_MAGIC, spads[WIRE_SPAD_MAGIC]);
	memcpy(link->spads, spads, sizeof(spads));
}

/* This side is not there for now. */
void link_spads_clear(struct ntb_link *link)
{
	link_spad(link, WIRE_SPAD_MAGIC, 0);
	memset(link->spads, 0, sizeof(link->spads));
}

/*
 * Say who and where this side is. Returns 0; -ERANGE: no window of this host
 * reaches so far; -ENOMEM.
 */
int link_hello_post(struct ntb_link *link, const struct link_spads *spads)
{
	u64 offset = (u64)spads->boot << WIRE_PAGE_SHIFT;
	unsigned int mw = WIRE_FLAGS_MW(spads->flags);
	struct wire_hello hello = {
		.magic = cpu_to_le32(WIRE_MAGIC << 16 | WIRE_VERSION),
		.generation = cpu_to_le32(link->base.generation),
		.echo = cpu_to_le32(spads->generation),
		.doorbell = cpu_to_le32(link->db_message),
		.heartbeat_ms = cpu_to_le32(link_heartbeat_ms),
		.incarnation = cpu_to_le32(link->base.self->incarnation),
		.ring = cpu_to_le64(link->rx.dma),
		.ring_slots = cpu_to_le32(LINK_RING_SLOTS),
		.flags = cpu_to_le32(link_doorbells_offered(link) ?
				     WIRE_HELLO_DOORBELLS : 0),
		.valid = cpu_to_le32(link->base.generation),
	};

	if (mw >= link->windows || offset >= link->window_size[mw] ||
	    link->window_size[mw] - offset < sizeof(struct wire_boot))
		return -ERANGE;
	if (link_peer_boot_map(link, link->window_phys[mw] + offset))
		return -ENOMEM;
	mutex_lock(&link->window_lock);
	link_apertures_write(link, hello.apertures);
	mutex_unlock(&link->window_lock);
	export_uuid(hello.uuid, &link->base.self->uuid);
	strscpy(hello.name, link->base.self->name);
	hello.crc = cpu_to_le32(wire_hello_crc(&hello));
	memcpy_toio(&link->peer_boot->hello, &hello,
		    offsetof(struct wire_hello, valid));
	wmb();	/* all of it before what makes it valid */
	writel(link->base.generation, &link->peer_boot->hello.valid);
	return 0;
}

/* Whether the other side's hello has come. */
enum wire_reason link_hello_look(struct ntb_link *link,
				 struct wire_hello *hello)
{
	u64 sizes[LINK_WINDOWS_MAX];
	enum wire_reason reason;
	unsigned int i;

	for (i = 0; i < link->windows; i++)
		sizes[i] = link->window_size[i];
	memcpy(hello, &link->boot->hello, sizeof(*hello));
	reason = wire_hello_check(hello, link->peer_generation,
				  link->base.generation);
	if (!reason && !wire_apertures_ok(hello->apertures, link->windows,
					  sizes))
		reason = WIRE_REASON_WINDOW;
	return reason;
}
