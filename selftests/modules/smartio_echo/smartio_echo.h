/* SPDX-License-Identifier: GPL-2.0 */
/* What both halves of smartio_echo agree on. */
#ifndef _SMARTIO_ECHO_H
#define _SMARTIO_ECHO_H

#include <linux/smartio.h>

#define ECHO_SERVICE	"echo"
#define ECHO_BAR_SIZE	4096

/**
 * enum echo_op - kinds of requests
 * @ECHO_INVERT: the data is returned, each byte inverted
 * @ECHO_SLEEP: the answer comes after @a milliseconds
 * @ECHO_NOTIFY: the data comes as @a notifications, their number in front
 * @ECHO_STORE: @size bytes of value @c are stored at the borrower's address @a,
 *	as the device would
 * @ECHO_SUM: the bytes of segment @a, from @b, @size of them, are added up as
 *	the device sees them: the answer is a u64
 * @ECHO_SET_IRQ: a vector for message @a, @c: the answer is a u64
 * @ECHO_RAISE: vector @a interrupts, as the device would do it
 * @ECHO_CLEAR_IRQ: vector @a is given back
 * @ECHO_FAIL: the answer is error -@a
 * @ECHO_SUSPEND: 100 ms later the device is suspended, and @a ms after that
 *	resumed
 */
enum echo_op {
	ECHO_INVERT,
	ECHO_SLEEP,
	ECHO_NOTIFY,
	ECHO_STORE,
	ECHO_SUM,
	ECHO_SET_IRQ,
	ECHO_RAISE,
	ECHO_CLEAR_IRQ,
	ECHO_FAIL,
	ECHO_SUSPEND,
};

struct echo_request {
	u32 op;
	u32 c;
	u64 a;
	u64 b;
	u64 size;
	u8 data[];
};

struct dentry;
extern struct dentry *echo_root;

int echo_lender_init(void);
void echo_lender_exit(void);
int echo_borrower_init(void);
void echo_borrower_exit(void);

#endif /* _SMARTIO_ECHO_H */
