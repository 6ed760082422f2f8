// Package commits is the one edge that writes groups: it stores offsets, removes them and removes whole groups, as an
// administrator and not as a member, which a broker accepts only while nobody else may commit.
//
// It knows what one request can hold (see [Write]), asks for the coordinator again after a connection fails or the
// coordinator moves, and says of each row what is known about it: stored, refused by the broker, never sent
// ([NotSentError]), or not known ([UnknownError]). What is right to write is not decided here, with one exception: no offset
// below 0 ever leaves, since brokers store any number.
package commits
