//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canRefuseSockets means that programs without the network get no sockets.
const canRefuseSockets = true

// hasOwnLoopback reports whether programs have a private loopback interface.
func (b *Box) hasOwnLoopback() bool {
	return b.mode != Off && b.means.Namespaces && !b.policy.Network
}

// A handover carries the listener from the child, which opens it in the program's
// network namespace, to this process, which answers.
type handover struct{ ours, theirs *os.File }

func newHandover() (handover, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return handover{}, fmt.Errorf("listen for what the program asks: %w", err)
	}
	return handover{os.NewFile(uintptr(pair[0]), "listener"), os.NewFile(uintptr(pair[1]), "listener")}, nil
}

// closeChildEnd closes the child's end.
func (h handover) closeChildEnd() error {
	if h.theirs == nil {
		return nil // the program sends no requests
	}
	return h.theirs.Close()
}

// accept waits for the listener. It fails if the child ends without one.
func (h handover) accept() (net.Listener, error) {
	conn, err := net.FileConn(h.ours)
	if err := errors.Join(err, h.ours.Close()); err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written to it
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("the listener comes over %T", conn)
	}
	rights := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := socket.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, errors.New("the child opened no listener")
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(files[0]), "listener")
	defer file.Close() //nolint:errcheck // the listener has a descriptor of its own
	return net.FileListener(file)
}

// answer answers the program's requests once the child has handed over the listener.
// stop ends it at any time.
func (h handover) answer(ctx context.Context, l *Loopback) (stop func()) {
	done := make(chan func(), 1)
	go func() {
		listener, err := h.accept()
		if err != nil {
			done <- func() {} // the child reports the failure
			return
		}
		done <- l.serve(ctx, listener)
	}()
	return func() { (<-done)() }
}

// handOverConnections has the child connect to the program's port for this process. The
// ends of the socket are closed by hangUp and when the child has started.
func (r *runningProgram) handOverConnections() (dial func(context.Context) (net.Conn, error), hangUp func(), err error) {
	over, err := newHandover()
	if err != nil {
		return nil, nil, err
	}
	conn, err := net.FileConn(over.ours)
	if err := errors.Join(err, over.ours.Close()); err != nil {
		return nil, nil, errors.Join(err, over.theirs.Close())
	}
	r.connections = over.theirs
	socket, _ := conn.(*net.UnixConn) // by its kind
	var one sync.Mutex
	dial = func(context.Context) (net.Conn, error) {
		one.Lock()
		defer one.Unlock()
		return connection(socket)
	}
	return dial, func() { _ = errors.Join(socket.Close(), over.theirs.Close()) }, nil
}

// connectTime bounds one connection to a port of the same machine.
const connectTime = 5 * time.Second

// connection asks the child for a connection.
func connection(socket *net.UnixConn) (net.Conn, error) {
	if _, err := socket.Write([]byte{0}); err != nil {
		return nil, fmt.Errorf("connect to the program: %w", err)
	}
	answer, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := socket.ReadMsgUnix(answer, rights)
	switch {
	case err != nil:
		return nil, fmt.Errorf("connect to the program: %w", err)
	case answer[0] != 0 || n == 0:
		return nil, fmt.Errorf("connect to the program: %w", syscall.ECONNREFUSED)
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return nil, fmt.Errorf("connect to the program: %w", err)
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, fmt.Errorf("connect to the program: %w", err)
	}
	file := os.NewFile(uintptr(files[0]), "connection")
	defer file.Close() //nolint:errcheck // the connection has a descriptor of its own
	return net.FileConn(file)
}

// connectTo brings the loopback interface of this namespace up, and hands over a
// connection to a port for each byte that it reads.
func connectTo(port int, to *os.File) error {
	if err := raiseLoopback(); err != nil {
		return errors.Join(err, to.Close())
	}
	go func() {
		defer to.Close() //nolint:errcheck // the other process is gone
		fd, at := int(to.Fd()), net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		for asked := make([]byte, 1); ; {
			if n, err := syscall.Read(fd, asked); err != nil && !errors.Is(err, syscall.EINTR) || err == nil && n == 0 {
				return
			} else if n == 0 {
				continue
			}
			if err := handOverOne(fd, at); err != nil {
				return
			}
		}
	}()
	return nil
}

// handOverOne connects to an address and sends the connection, or a byte that is not 0.
func handOverOne(fd int, at string) error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	refused := func() error { return syscall.Sendmsg(fd, []byte{1}, nil, nil, 0) }
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", at)
	if err != nil {
		return refused()
	}
	defer conn.Close() //nolint:errcheck // the other process has it then
	socket, ok := conn.(*net.TCPConn)
	if !ok {
		return refused()
	}
	file, err := socket.File()
	if err != nil {
		return refused()
	}
	defer file.Close() //nolint:errcheck // the other process has it then
	return syscall.Sendmsg(fd, []byte{0}, syscall.UnixRights(int(file.Fd())), nil, 0)
}

// openLoopback brings the loopback interface of this namespace up, listens there,
// and hands the listener over. It returns the address.
func openLoopback(to *os.File) (net.Addr, error) {
	fault := func(err error) (net.Addr, error) {
		return nil, fmt.Errorf("listen for what the program asks: %w", errors.Join(err, to.Close()))
	}
	if err := raiseLoopback(); err != nil {
		return fault(err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return fault(err)
	}
	defer listener.Close() //nolint:errcheck // the other process has it then
	socket, ok := listener.(*net.TCPListener)
	if !ok {
		return fault(fmt.Errorf("it is a %T", listener))
	}
	file, err := socket.File()
	if err != nil {
		return fault(err)
	}
	defer file.Close() //nolint:errcheck // the other process has it then
	if err := syscall.Sendmsg(int(to.Fd()), []byte{0}, syscall.UnixRights(int(file.Fd())), nil, 0); err != nil {
		return fault(err)
	}
	return listener.Addr(), to.Close()
}

// raiseLoopback is ip link set lo up.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	defer unix.Close(socket) //nolint:errcheck // nothing was written to it
	request, err := unix.NewIfreq("lo")
	if err == nil {
		request.SetUint16(unix.IFF_UP)
		err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
	}
	if err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	return nil
}
