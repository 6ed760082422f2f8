package conn

// Java's key stores: PKCS#12 is read, JKS is refused with the command that
// converts it. What a file is, its first bytes say; types written in
// configuration are wrong too often (Java itself opens a PKCS#12 file that is
// called JKS).

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	pkcs12 "software.sslmate.com/src/go-pkcs12"
)

// refuseJKS recognises JKS and JCEKS by their magic numbers.
func refuseJKS(data []byte, file string) error {
	if len(data) < 4 {
		return errors.New("it is empty or cut off")
	}
	kind := ""
	switch binary.BigEndian.Uint32(data) {
	case 0xFEEDFEED:
		kind = "JKS"
	case 0xCECECECE:
		kind = "JCEKS"
	default:
		return nil
	}
	return &storeError{fmt.Errorf("it is a Java key store of the old type %s, which koffset does not read", kind),
		fmt.Sprintf("convert it: keytool -importkeystore -srckeystore %s -srcstoretype %s -destkeystore %s.p12 -deststoretype PKCS12", file, kind, file)}
}

// readTrustStore reads the certificates of a PKCS#12 file: of a trust store as
// keytool makes it, or of any other.
func readTrustStore(data []byte, file, password string) ([]*x509.Certificate, error) {
	if err := refuseJKS(data, file); err != nil {
		return nil, err
	}
	certs, err := pkcs12.DecodeTrustStore(data, password)
	if err == nil {
		return certs, nil
	}
	if errors.Is(err, pkcs12.ErrIncorrectPassword) {
		return nil, wrongStorePassword("tls.ca_password", password)
	}
	// keytool marks trusted certificates with an attribute of Java's own.
	// Where there is none, the file is a store with a key in it, whose own
	// certificate Java then trusts, or openssl made it without a key: of that
	// one Java sees nothing, and the library reads nothing.
	_, leaf, _, keyErr := pkcs12.DecodeChain(data, password)
	if keyErr == nil {
		return []*x509.Certificate{leaf}, nil
	}
	if strings.Contains(err.Error(), "not marked as trusted") {
		return nil, &storeError{errors.New("its certificates are not marked as trusted, so that Java would see none in it either"),
			fmt.Sprintf("use PEM: openssl pkcs12 -in %[1]s -nokeys -out %[1]s.pem, and set tls.ca to that", file)}
	}
	return nil, notPKCS12(err)
}

// readKeyStore reads our own key and certificate chain from a PKCS#12 file.
func readKeyStore(data []byte, file, password string) (*tls.Certificate, error) {
	if err := refuseJKS(data, file); err != nil {
		return nil, err
	}
	key, leaf, chain, err := pkcs12.DecodeChain(data, password)
	if errors.Is(err, pkcs12.ErrIncorrectPassword) {
		return nil, wrongStorePassword("tls.key_password", password)
	}
	if err != nil {
		return nil, notPKCS12(err)
	}
	cert := &tls.Certificate{PrivateKey: key, Leaf: leaf, Certificate: [][]byte{leaf.Raw}}
	for _, c := range chain {
		cert.Certificate = append(cert.Certificate, c.Raw)
	}
	return cert, nil
}

func wrongStorePassword(setting, password string) error {
	if password == "" {
		return &storeError{errors.New("it is protected by a password"), fmt.Sprintf("set %[1]s, %[1]s_file or %[1]s_command", setting)}
	}
	return &storeError{errors.New("its password is wrong"), fmt.Sprintf("check %s (keytool -list -keystore FILE asks for the same one)", setting)}
}

func notPKCS12(err error) error {
	return &storeError{fmt.Errorf("neither PEM nor a PKCS#12 store that can be read: %w", err),
		"convert a PKCS#12 store to PEM: openssl pkcs12 -in FILE -out FILE.pem"}
}
