import { createServer, type Server } from "node:https";
import { text } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { AddressPolicy } from "../../../runner/src/files/public-address.ts";
import { PublicFetch } from "../../../runner/src/files/public-fetch.ts";
import { ALLOWED, errorOf, serve } from "../support/public-fetch-server.ts";

/** A self-signed key for files.test, valid until 2126; used nowhere else. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgK6nCw7vw12TmTH7Y
EK0DPtxwdPlrhYJRuL9kC9/9IhGhRANCAAR91RExvpfuN8E2l+bbT3s/cKwJttdZ
7+g6yV1g7RXZ5etesdbFygMcV7yv+F//lkf3FNTXuk6h38wWyEZDn5xo
-----END PRIVATE KEY-----`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBmTCCAT6gAwIBAgIUdfBJ53IysY7I60XuyBvohXgdUjgwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZmlsZXMudGVzdDAgFw0yNjExMjEwNTM1MDdaGA8yMTI2MTAy
ODA1MzUwN1owFTETMBEGA1UEAwwKZmlsZXMudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABH3VETG+l+43wTaX5ttPez9wrAm211nv6DrJXWDtFdnl616x1sXK
AxxXvK/4X/+WR/cU1Ne6TqHfzBbIRkOfnGijajBoMB0GA1UdDgQWBBSCnzljlSjN
8p6PmzY16wrVksCzFTAfBgNVHSMEGDAWgBSCnzljlSjN8p6PmzY16wrVksCzFTAP
BgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCmZpbGVzLnRlc3QwCgYIKoZIzj0E
AwIDSQAwRgIhAJEjWQ8DtOhJBT9F0dhOLR+6lKUJ7nds+zEY9TMU4uA0AiEAiLch
MPLgk/PjwY0MxUyXUXqbVnPNNwn+6T5pzUF665Y=
-----END CERTIFICATE-----`;

const before = getCACertificates("default");
afterEach(() => setDefaultCACertificates(before));

const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
const fetcher = new PublicFetch(new AddressPolicy(ALLOWED), resolve);
const never = new AbortController().signal;

const secure = () => {
  const server: Server = createServer({ key, cert });
  return serve((_request, response) => response.end("secret"), "127.0.0.1", server);
};

test("a file over https is read when the certificate is valid and for that name", async () => {
  setDefaultCACertificates([cert]);
  const { port } = await secure();
  const { body } = await fetcher.get(new URL(`https://files.test:${port}/`), undefined, never);
  expect(await text(body)).toBe("secret");
});

test.each([
  ["a certificate that nobody vouches for", "files.test", false, /DEPTH_ZERO_SELF_SIGNED_CERT/],
  ["a certificate of another name", "other.test", true, /ERR_TLS_CERT_ALTNAME_INVALID/],
])("a file over https is not read with %s", async (_name, host, trusted, message) => {
  if (trusted) setDefaultCACertificates([cert]);
  const { port, requests } = await secure();
  const error = await errorOf(fetcher.get(new URL(`https://${host}:${port}/`), undefined, never));
  expect(error).toMatchObject({ message: expect.stringMatching(message) });
  expect(requests).toEqual([]);
});
