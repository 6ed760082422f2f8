package settings

import "regexp"

var (
	urlUser     = regexp.MustCompile(`([a-zA-Z0-9+]+://[^:/@?#\s]*):[^@\s]*@`)
	urlPassword = regexp.MustCompile(`(?i)([?&][^=&\s]*(?:password|secret|token)[^=&\s]*=)[^&\s,;]*`)
)

// masked hides the passwords of URLs in a text. A store's URL is a setting, and a start can name one too.
func masked(text string) string {
	return urlPassword.ReplaceAllString(urlUser.ReplaceAllString(text, "$1:***@"), "$1***")
}
