package breezeway

import "golang.org/x/sys/unix"

// rights gives the descriptors of a control message.
func rights(oob []byte) (descriptors []int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			descriptors = append(descriptors, fds...)
		}
	}
	return descriptors
}
