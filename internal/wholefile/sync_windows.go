package wholefile

import "os"

// SyncDir does nothing: Windows has no sync of a folder, and opening one for it is denied. NTFS journals the names itself.
func SyncDir(string) error { return nil }

// OpenAppend opens a file to append to, and creates it.
func OpenAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}
