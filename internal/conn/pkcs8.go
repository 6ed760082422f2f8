package conn

// Encrypted PKCS#8 keys (RFC 5958 with PBES2 of RFC 8018), which is what
// openssl and keytool write and what Java takes as an encrypted PEM key. The
// standard library parses only plain ones.

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
)

type pkcs8Encrypted struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2Params struct {
	KDF    pkix.AlgorithmIdentifier
	Cipher pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

// maxIterations bounds the work that a file can ask for; openssl writes 2048
// and careful people a million.
const maxIterations = 10_000_000

var errKeyPassword = errors.New("the password of the private key is wrong")

// decryptPKCS8 returns the plain PKCS#8 key.
func decryptPKCS8(der, password []byte) ([]byte, error) {
	var enc pkcs8Encrypted
	if _, err := asn1.Unmarshal(der, &enc); err != nil {
		return nil, fmt.Errorf("not an encrypted PKCS#8 key: %w", err)
	}
	if enc.Algorithm.Algorithm.String() != "1.2.840.113549.1.5.13" {
		return nil, &storeError{fmt.Errorf("the private key is encrypted with %s, not with PBES2", enc.Algorithm.Algorithm),
			"convert it: openssl pkcs8 -topk8 -v2 aes-256-cbc -in OLD.pem -out NEW.pem"}
	}
	var p pbes2Params
	if _, err := asn1.Unmarshal(enc.Algorithm.Parameters.FullBytes, &p); err != nil {
		return nil, fmt.Errorf("the key's encryption cannot be read: %w", err)
	}
	if p.KDF.Algorithm.String() != "1.2.840.113549.1.5.12" {
		return nil, &storeError{fmt.Errorf("the private key's password is derived with %s, not with PBKDF2", p.KDF.Algorithm),
			"convert it: openssl pkcs8 -topk8 -v2 aes-256-cbc -in OLD.pem -out NEW.pem"}
	}
	var kdf pbkdf2Params
	if _, err := asn1.Unmarshal(p.KDF.Parameters.FullBytes, &kdf); err != nil {
		return nil, fmt.Errorf("the key's encryption cannot be read: %w", err)
	}
	if kdf.Iterations < 1 || kdf.Iterations > maxIterations {
		return nil, fmt.Errorf("the key's encryption asks for %d rounds", kdf.Iterations)
	}
	prf, err := prfOf(kdf.PRF)
	if err != nil {
		return nil, err
	}
	size, newBlock, err := cipherOf(p.Cipher)
	if err != nil {
		return nil, err
	}
	var iv []byte
	if _, err := asn1.Unmarshal(p.Cipher.Parameters.FullBytes, &iv); err != nil {
		return nil, fmt.Errorf("the key's encryption cannot be read: %w", err)
	}
	key, err := pbkdf2.Key(prf, string(password), kdf.Salt, kdf.Iterations, size)
	if err != nil {
		return nil, fmt.Errorf("the key's encryption cannot be read: %w", err)
	}
	block, err := newBlock(key)
	if err != nil {
		return nil, err
	}
	if len(iv) != block.BlockSize() || len(enc.Data) == 0 || len(enc.Data)%block.BlockSize() != 0 {
		return nil, errors.New("the encrypted key is cut off")
	}
	plain := make([]byte, len(enc.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, enc.Data)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > block.BlockSize() || !bytes.Equal(plain[len(plain)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, errKeyPassword
	}
	plain = plain[:len(plain)-pad]
	// One wrong password in 256 leaves padding that looks right.
	if _, err := x509.ParsePKCS8PrivateKey(plain); err != nil {
		return nil, errKeyPassword
	}
	return plain, nil
}

func prfOf(a pkix.AlgorithmIdentifier) (func() hash.Hash, error) {
	switch a.Algorithm.String() {
	case "", "1.2.840.113549.2.7": // absent means HMAC-SHA1
		return sha1.New, nil
	case "1.2.840.113549.2.9":
		return sha256.New, nil
	case "1.2.840.113549.2.10":
		return sha512.New384, nil
	case "1.2.840.113549.2.11":
		return sha512.New, nil
	}
	return nil, fmt.Errorf("the key's password is derived with an unknown hash %s", a.Algorithm)
}

func cipherOf(a pkix.AlgorithmIdentifier) (size int, newBlock func([]byte) (cipher.Block, error), err error) {
	switch a.Algorithm.String() {
	case "2.16.840.1.101.3.4.1.2":
		return 16, aes.NewCipher, nil
	case "2.16.840.1.101.3.4.1.22":
		return 24, aes.NewCipher, nil
	case "2.16.840.1.101.3.4.1.42":
		return 32, aes.NewCipher, nil
	case "1.2.840.113549.3.7":
		return 24, des.NewTripleDESCipher, nil
	}
	return 0, nil, fmt.Errorf("the private key is encrypted with an unknown cipher %s", a.Algorithm)
}
