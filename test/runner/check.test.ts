import { afterEach, beforeEach, expect, test } from "vitest";
import {
  checkClock,
  checkControlPlane,
  checkNode,
  formatFindings,
} from "../../runner/src/check.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

let plane: FakeControlPlane;
beforeEach(async () => {
  plane = await FakeControlPlane.start();
});
afterEach(() => plane.stop());

const look = async (status: number) => {
  plane.endpoints.set("/v1/runner/telemetry", () => ({ status, body: {} }));
  const findings = await checkControlPlane({ url: plane.url, token: "ausr_x" });
  return Object.fromEntries(findings.map(({ name, ok }) => [name, ok]));
};

test("what the control plane's answer means", async () => {
  expect(await look(422)).toEqual({ "control plane": true, token: true, clock: true });
  expect(await look(401)).toEqual({ "control plane": true, token: false, clock: true });
  expect(await look(503)).toMatchObject({ "control plane": false });
  expect(await look(404)).toMatchObject({ "control plane": false });
});

test("a control plane that is not there", async () => {
  const [finding] = await checkControlPlane({ url: "http://127.0.0.1:2", token: "ausr_x" });
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
  expect(checkNode("20.19.0")).toMatchObject({ ok: false, advice: "install Node 22 or later" });
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
