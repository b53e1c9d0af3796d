// SPDX-License-Identifier: GPL-2.0
/*
 * Which hosts may borrow which device. A rule is of a PCI address, whether a
 * device is there, and lent, or not. Without a rule any host may. The drivers of
 * this host itself always may.
 *
 * A host is the UUID that it introduces itself with: nothing proves it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>

#include "export.h"

#define POLICY_RULES_MAX	256
/* A line of a rule fits a page. */
#define POLICY_HOSTS_MAX	64
/* A host is refused again and again: the log has it once. */
#define POLICY_LOGGED		16U

/**
 * struct policy_rule - the hosts that may borrow one device
 * @entry: in policy_rules
 * @pci: its address
 * @count: of @hosts; 0: none may
 * @hosts: these may
 * @logged: the last hosts whose refusal is in the log
 * @next_logged: how many there were
 */
struct policy_rule {
	struct list_head entry;
	char pci[POLICY_PCI_LEN];
	unsigned int count;
	uuid_t hosts[POLICY_HOSTS_MAX];
	uuid_t logged[POLICY_LOGGED];
	unsigned int next_logged;
};

static LIST_HEAD(policy_rules);
static DEFINE_MUTEX(policy_lock);	/* the rules */

static struct policy_rule *policy_find(const char *pci)
{
	struct policy_rule *rule;

	list_for_each_entry(rule, &policy_rules, entry)
		if (!strcmp(rule->pci, pci))
			return rule;
	return NULL;
}

static bool policy_one_of(const uuid_t *hosts, unsigned int count,
			  const uuid_t *host)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (uuid_equal(&hosts[i], host))
			return true;
	return false;
}

static bool policy_rule_allows(const struct policy_rule *rule,
			       const struct session *session)
{
	return !rule || session->s.local ||
	       policy_one_of(rule->hosts, rule->count, &session->s.host);
}

/* Whether the borrower of a session may have it. May sleep. */
bool policy_allows(const struct session *session)
{
	const char *pci = pci_name(session->s.export->pdev);
	bool allows;

	mutex_lock(&policy_lock);
	allows = policy_rule_allows(policy_find(pci), session);
	mutex_unlock(&policy_lock);
	return allows;
}

/* The same for a session that is to be opened: a refusal is logged. */
bool policy_admits(const struct session *session)
{
	struct pci_dev *pdev = session->s.export->pdev;
	struct policy_rule *rule;
	bool admits, known = true;

	mutex_lock(&policy_lock);
	rule = policy_find(pci_name(pdev));
	admits = policy_rule_allows(rule, session);
	if (!admits) {
		known = policy_one_of(rule->logged,
				      min(rule->next_logged, POLICY_LOGGED),
				      &session->s.host);
		if (!known)
			uuid_copy(&rule->logged[rule->next_logged++ %
						POLICY_LOGGED],
				  &session->s.host);
	}
	mutex_unlock(&policy_lock);
	if (!known)
		pr_notice_ratelimited("%s: host %s (%pUb) over %s is refused: it is none of those that may borrow this device\n",
				      pci_name(pdev), session->s.host_name,
				      &session->s.host, session->s.link_name);
	return admits;
}

/* Skips @least to @most hexadecimal digits, and @end behind them. */
static bool policy_digits(const char **text, size_t least, size_t most,
			  char end)
{
	size_t digits = strspn(*text, "0123456789abcdef");

	if (digits < least || digits > most || (*text)[digits] != end)
		return false;
	*text += digits + 1;
	return true;
}

/* An address as pci_name() has it: no rule must fail to be found. */
static bool policy_pci_ok(const char *pci)
{
	const char *at = pci;

	return strlen(pci) < POLICY_PCI_LEN &&
	       policy_digits(&at, 4, 8, ':') && policy_digits(&at, 2, 2, ':') &&
	       policy_digits(&at, 2, 2, '.') && policy_digits(&at, 1, 1, '\0');
}

/* "none", or UUIDs with commas between. */
static int policy_parse_hosts(struct policy_rule *rule, const char *text)
{
	uuid_t host;

	if (!strcmp(text, "none"))
		return 0;
	while (strlen(text) >= UUID_STRING_LEN && !uuid_parse(text, &host)) {
		if (!policy_one_of(rule->hosts, rule->count, &host)) {
			if (rule->count == POLICY_HOSTS_MAX)
				return -ENOSPC;
			uuid_copy(&rule->hosts[rule->count++], &host);
		}
		text += UUID_STRING_LEN;
		if (!*text)
			return 0;
		if (*text++ != ',')
			break;
	}
	return -EINVAL;
}

static bool policy_same(const struct policy_rule *a,
			const struct policy_rule *b)
{
	return a->count == b->count &&
	       !memcmp(a->hosts, b->hosts, a->count * sizeof(a->hosts[0]));
}

/* Puts a rule, or for NULL none, in place of the device's. */
static int policy_replace(const char *pci, struct policy_rule *rule)
{
	struct policy_rule *old, *other;
	unsigned int count = 0;
	int ret = 1;

	mutex_lock(&policy_lock);
	old = policy_find(pci);
	list_for_each_entry(other, &policy_rules, entry)
		count++;
	if (rule ? old && policy_same(rule, old) : !old) {
		ret = 0;
	} else if (rule && !old && count >= POLICY_RULES_MAX) {
		ret = -ENOSPC;
	} else {
		if (old)
			list_del(&old->entry);
		if (rule)
			list_add_tail(&rule->entry, &policy_rules);
	}
	mutex_unlock(&policy_lock);
	if (ret > 0)
		kfree(old);
	return ret;
}

static int policy_parse(char *text, char *pci)
{
	struct policy_rule *rule = NULL;
	char *hosts;
	int ret = 0;

	text = strim(text);
	hosts = strchr(text, ' ');
	if (!hosts)
		return -EINVAL;
	*hosts++ = '\0';
	if (!policy_pci_ok(text))
		return -EINVAL;
	if (strcmp(hosts, "any")) {
		rule = kzalloc(sizeof(*rule), GFP_KERNEL);
		if (!rule)
			return -ENOMEM;
		memcpy(rule->pci, text, strlen(text));
		ret = policy_parse_hosts(rule, hosts);
	}
	memcpy(pci, text, strlen(text) + 1);
	if (!ret)
		ret = policy_replace(pci, rule);
	if (ret <= 0)
		kfree(rule);
	if (ret > 0)
		pr_notice("%s: may be borrowed by %s\n", pci, hosts);
	return ret;
}

/*
 * @text, of @size bytes: a PCI address, a space, and "any", "none" or UUIDs with
 * commas between, which replaces the rule. Fills in @pci, of POLICY_PCI_LEN
 * bytes. Sessions that the rule does not allow are the caller's. May sleep.
 *
 * Return: 1; 0: it was so before; -EINVAL; -ENOSPC: too many; -ENOMEM.
 */
int policy_change(const char *text, size_t size, char *pci)
{
	char *copy = kzalloc(size + 1, GFP_KERNEL);
	int ret;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, size);
	ret = policy_parse(copy, pci);
	kfree(copy);
	return ret;
}

static ssize_t policy_rule_show(const struct policy_rule *rule, char *buf,
				ssize_t len)
{
	unsigned int i;

	if (!rule)
		return len + sysfs_emit_at(buf, len, "any\n");
	if (!rule->count)
		return len + sysfs_emit_at(buf, len, "none\n");
	for (i = 0; i < rule->count; i++)
		len += sysfs_emit_at(buf, len, "%pUb%s", &rule->hosts[i],
				     i + 1 < rule->count ? "," : "\n");
	return len;
}

/* Who may borrow one device. */
ssize_t policy_show(const char *pci, char *buf)
{
	ssize_t len;

	mutex_lock(&policy_lock);
	len = policy_rule_show(policy_find(pci), buf, 0);
	mutex_unlock(&policy_lock);
	return len;
}

/* All rules, a line each, as far as a page has room. */
ssize_t policy_show_all(char *buf)
{
	struct policy_rule *rule;
	ssize_t len = 0;

	mutex_lock(&policy_lock);
	list_for_each_entry(rule, &policy_rules, entry) {
		len += sysfs_emit_at(buf, len, "%s ", rule->pci);
		len = policy_rule_show(rule, buf, len);
	}
	mutex_unlock(&policy_lock);
	return len;
}

void policy_exit(void)
{
	struct policy_rule *rule, *next;

	list_for_each_entry_safe(rule, next, &policy_rules, entry)
		kfree(rule);
	INIT_LIST_HEAD(&policy_rules);
}
