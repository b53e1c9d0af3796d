# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# dlm_log HOST: allows the messages of the kernel's DLM about hosts that join, leave or fail.
dlm_log() {
	# a lockspace's own words, by its name; a node's about its connections
	log_may "$1" '\] (DLM installed$|dlm: ([A-Za-z0-9:_.-]+: |Using TCP for communications|(connecting to|connect failed to|got connection from|closing connection to) |io handling for node: [0-9]+ stopped|version 0x[0-9]+ for node [0-9]+ detected))'
	# a message that a host sent before it left a lockspace may arrive after the others know that it left
	# (docs/cluster-filesystems.md)
	warning_may "$1" 'fs/dlm/lock.c:[0-9]+ _receive_message'
}
