/** Whom to tell of a weakness. */
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

test("is the operator's contact, good for half a year", async () => {
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

test("is not there where nobody is named, and says who could be", async () => {
  const answer = await ask("");
  expect([answer.status, await answer.text()]).toEqual([
    404,
    expect.stringContaining("SECURITY_CONTACT"),
  ]);
});

test("takes no contact without a scheme, or over a line that anybody can read", () => {
  for (const contact of ["security@example.com", "http://example.com/security"])
    expect(() => settings(Object.assign({}, env, { SECURITY_CONTACT: contact }))).toThrow(
      "SECURITY_CONTACT",
    );
});
