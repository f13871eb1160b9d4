/** /.well-known/security.txt: the contact for reports of weaknesses. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { settings } from "../../../src/env.ts";
import worker from "../../../src/worker.ts";
import { ORIGIN } from "../support/client.ts";

const ask = (SECURITY_CONTACT: string) =>
  worker.fetch(
    new Request(`${ORIGIN}/.well-known/security.txt`, { headers: { accept: "text/html" } }),
    Object.assign({}, env, { SECURITY_CONTACT }),
    createExecutionContext(),
  );

test("security.txt names the operator's contact for half a year", async () => {
  const answer = await ask("mailto:security@example.com");
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain/);
  const [contact, expires, canonical, ...rest] = (await answer.text()).split("\n");
  expect(contact).toBe("Contact: mailto:security@example.com");
  const days = (Date.parse(expires?.replace("Expires: ", "") ?? "") - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThanOrEqual(180);
  expect(days).toBeLessThanOrEqual(181);
  expect(canonical).toBe(`Canonical: ${ORIGIN}/.well-known/security.txt`);
  expect(rest).toEqual([""]);
});

test("security.txt is a 404 that names SECURITY_CONTACT while that is empty", async () => {
  const answer = await ask("");
  expect([answer.status, await answer.text()]).toEqual([
    404,
    expect.stringContaining("SECURITY_CONTACT"),
  ]);
});

test("SECURITY_CONTACT without a scheme, or with http, is refused", () => {
  for (const contact of ["security@example.com", "http://example.com/security"])
    expect(() => settings(Object.assign({}, env, { SECURITY_CONTACT: contact }))).toThrow(
      "SECURITY_CONTACT",
    );
});
