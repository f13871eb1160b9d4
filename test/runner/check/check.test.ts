import { afterEach, beforeEach, expect, test } from "vitest";
import {
  assertNode,
  checkClock,
  checkControlPlane,
  checkNode,
  formatFindings,
} from "../../../runner/src/check/check.ts";
import { FakeControlPlane } from "../support/fake-control-plane.ts";

let plane: FakeControlPlane;
beforeEach(async () => {
  plane = await FakeControlPlane.start();
});
afterEach(() => plane.stop());

const CLASS = { identifier: "l40s", name: "NVIDIA L40S", pool: "l40s", gpus: 2 };

async function look(status: number, body: object = {}, gpus = 2) {
  plane.endpoints.set("/v1/runner/hardware/l40s", () => ({ status, body }));
  const config = { url: plane.url, token: "ausr_x", hardware: ["l40s"] };
  return Object.fromEntries(
    (await checkControlPlane(config, gpus)).map(({ name, ...finding }) => [name, finding]),
  );
}

const ok = { ok: true };
const problem = (status: number, detail: string) => {
  return { type: "urn:auspex:problem", title: "Problem", status, detail, request_id: "r" };
};

test("what the control plane's answer means", async () => {
  const all = { "control plane": ok, token: ok, hardware: ok, clock: ok };
  expect(await look(200, CLASS)).toMatchObject(all);
  const unknown = await look(401, problem(401, "The runner token is unknown."));
  expect(unknown).toMatchObject({ "control plane": ok, token: { ok: false }, clock: ok });
  expect(unknown).not.toHaveProperty("hardware");
  const broken = await look(503);
  expect(broken).toMatchObject({ "control plane": { ok: false } });
  // Nothing was said of it.
  expect(broken).not.toHaveProperty("token");
});

test.each([200, 302, 404])("an address that is no deployment's and answers %i", async (status) => {
  const headers = { "content-type": "text/html" };
  plane.endpoints.set("/v1/runner/hardware/l40s", () => ({ status, body: {}, headers }));
  const config = { url: plane.url, token: "ausr_x", hardware: ["l40s"] };
  const findings = await checkControlPlane(config, 0);
  expect(findings[0]).toMatchObject({
    ok: false,
    detail: expect.stringContaining("is not an Auspex deployment"),
  });
  expect(findings.map(({ name }) => name)).toEqual(["control plane", "clock"]);
});

test("a class of machines that the token does not serve, or that there is not", async () => {
  const detail = "This runner token is for box, not for 'l40s'.";
  expect(await look(403, problem(403, detail))).toMatchObject({
    token: ok,
    hardware: { ok: false, detail, advice: expect.stringContaining("--hardware") },
  });
  expect(await look(404, problem(404, "The hardware 'l40s' does not exist."))).toMatchObject({
    "control plane": ok,
    hardware: { ok: false, advice: expect.stringContaining("/fleet/hardware") },
  });
});

test("a machine with fewer GPUs than its class: a warning", async () => {
  const few = async (gpus: number) => (await look(200, CLASS, gpus)).hardware;
  expect(await few(0)).toMatchObject({
    ok: true,
    detail: "l40s machines have 2 GPUs, and this one has none",
    advice: expect.stringContaining("use another class (--hardware)"),
  });
  expect((await few(1))?.advice).toBeDefined();
  expect(await few(8)).toEqual({ ok: true, detail: "l40s, NVIDIA L40S" });
});

test("each class of a machine, which must be of one pool", async () => {
  const config = { url: plane.url, token: "ausr_x", hardware: ["l40s", "l40s-x4"] };
  const answer = (identifier: string, pool: string, gpus: number) =>
    plane.endpoints.set(`/v1/runner/hardware/${identifier}`, () => ({
      status: 200,
      body: { identifier, name: identifier, pool, gpus },
    }));
  const found = async () =>
    (await checkControlPlane(config, 4)).map(({ ok, name, detail }) => [ok, name, detail]);
  answer("l40s", "l40s", 1);
  answer("l40s-x4", "l40s", 4);
  expect((await found()).map(([, name]) => name)).toEqual([
    "control plane",
    "token",
    "hardware",
    "clock",
    "hardware",
  ]);
  answer("l40s-x4", "other", 4);
  expect((await found()).at(-1)).toEqual([
    false,
    "hardware",
    "l40s is in the pool l40s, l40s-x4 is in the pool other",
  ]);
});

test("a control plane that is not there", async () => {
  const config = { url: "http://127.0.0.1:2", token: "ausr_x", hardware: ["l40s"] };
  const [finding] = await checkControlPlane(config, 0);
  expect(finding).toMatchObject({ ok: false, detail: expect.stringContaining("ECONNREFUSED") });
  expect(JSON.stringify(finding)).not.toContain("ausr_x");
});

test("clocks: a warning beyond five seconds", () => {
  const date = "Fri, 20 Nov 2026 12:00:00 GMT";
  const now = Date.parse(date);
  expect(checkClock(date, now + 1_500)).toEqual({ ok: true, name: "clock", detail: "1.0 s ahead" });
  expect(checkClock(date, now - 9_500)).toMatchObject({ ok: true, detail: "10.0 s behind" });
  expect(checkClock(date, now - 9_500).advice).toBeDefined();
  expect(checkClock(null, now).ok).toBe(true);
});

test("Node", () => {
  expect(checkNode("24.1.0").ok).toBe(true);
  expect(checkNode("20.19.0")).toMatchObject({ ok: false, advice: "install Node.js 22 or later" });
  expect(() => assertNode("24.1.0")).not.toThrow();
  expect(() => assertNode("20.19.0")).toThrow(
    "Node.js 20.19.0 is too old: install Node.js 22 or later",
  );
});

test("for people", () => {
  expect(
    formatFindings([
      { ok: true, name: "node", detail: "24.1.0" },
      { ok: true, name: "clock", detail: "9.0 s ahead", advice: "set it" },
      { ok: false, name: "gpu", detail: "gone", advice: "look for it" },
    ]),
  ).toBe(
    [
      "ok    node   24.1.0",
      "warn  clock  9.0 s ahead",
      "             -> set it",
      "BAD   gpu    gone",
      "             -> look for it",
    ].join("\n"),
  );
});
