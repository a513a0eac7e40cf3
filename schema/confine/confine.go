// Package confine has the kernel refuse what a process is not for: with a filter
// of system calls (seccomp), and with Landlock. Neither can be taken back.
//
// [Process] is for child processes of this program that only compute on texts of
// strangers. A [Profile] is for processes that go on to start a program.
package confine
