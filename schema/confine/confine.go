// Package confine lets the kernel take rights from a process: with a filter of system
// calls (seccomp), and with Landlock. Both are irrevocable.
//
// [Process] is for child processes of this program that only compute on texts of
// strangers. A [Profile] is for processes that then start a program.
package confine
