package offset

import "regexp"

// Stars stand for a secret wherever one would be shown.
const Stars = "***"

var (
	// The password of a URL's user. It may hold anything, also @ and /, where nobody encoded it: the last @ of the word ends it.
	// A word without one that has a port keeps it. A URL that was taken for a path has one slash left (redis:/:password@host),
	// and one that was cut at its first colon begins with the slashes.
	secretUser = regexp.MustCompile(`((?::/|:?//)[^:/@?#\s"']*):[^\s"']*@`)
	// A driver's own form, without slashes: mysql:user:password@tcp(host)/db.
	secretPlain = regexp.MustCompile(`(?i)\b((?:mysql|mariadb|postgres|postgresql|rediss?):)([^/\s"'][^\s"']*)@`)
	// The same cut at its first colon: user:password@tcp(host)/db.
	secretDriver = regexp.MustCompile(`((?:^|[\s"'])[^:/@\s"']*:)[^\s"']*(@(?:tcp|unix)\()`)
	// A parameter of a URL, or one of libpq's keywords, whose name says what it is.
	secretParam = regexp.MustCompile(`(?i)((?:^|[?&\s;'":])[\w.-]*(?:password|passwd|passphrase|pwd|secret|token)[\w.-]*\s*=\s*)('[^']*'|[^&\s;'"]+)`)
)

// Mask hides the passwords in a text that holds store URLs or connection strings, also ones that cannot be read. It is the
// one way to show such a text. Text without a secret comes back as it is.
func Mask(s string) string {
	s = secretUser.ReplaceAllString(s, "$1:"+Stars+"@")
	s = secretPlain.ReplaceAllString(s, "$1"+Stars+"@")
	s = secretDriver.ReplaceAllString(s, "${1}"+Stars+"$2")
	return secretParam.ReplaceAllString(s, "$1"+Stars)
}
