/** The reasons why predictions of a class wait, in words. */
import { expect, test } from "vitest";
import type {
  ClassReason,
  SomeReason,
} from "../../../src/domain/scheduling/decide/explain-class.ts";
import {
  classReasonText,
  modelWaitText,
  type NamedClassExplanation,
} from "../../../src/domain/scheduling/explanation.ts";

const NOW = 1_800_000_000_000;

const BOXES = { gpus: 1, boxes: 2, box_gpus: 4, used_gpus: 4, lacks_slots: false };

const text = (reason: Partial<ClassReason>, boxes: Partial<typeof BOXES> = {}) => {
  const whole: ClassReason = {
    why: "busy",
    jobs: 3,
    accounts: 1,
    boxes: [],
    free_at: null,
    ...reason,
  };
  const explanation: NamedClassExplanation = {
    ...BOXES,
    ...boxes,
    by_account: [],
    reasons: [whole],
    names: { b3: "box-3", b4: "box-4" },
  };
  return classReasonText(whole, explanation, "l40s", NOW);
};

test.each<[string, Partial<typeof BOXES>]>([
  ["All 4 GPUs are busy", {}],
  ["The only GPU is busy", { boxes: 1, box_gpus: 1, used_gpus: 1 }],
  ["All 2 runners are busy", { gpus: 0, box_gpus: 0, used_gpus: 0 }],
  ["The only runner is busy", { gpus: 0, boxes: 1 }],
  [
    "No runner has a free slot and 4 free GPUs (6 of 8 GPUs busy)",
    { gpus: 4, box_gpus: 8, used_gpus: 6 },
  ],
])("the text about boxes is right: %s", (why, boxes) => {
  expect(text({}, boxes)).toBe(`3 predictions queued. ${why}. Add a runner to shorten the wait.`);
});

test.each<[Partial<ClassReason>, string]>([
  [
    { why: "no-box", jobs: 1 },
    "1 prediction queued. No l40s runners online. Start one or resume a draining runner.",
  ],
  [
    { why: "too-small" },
    "3 predictions queued. No l40s runner has 1 working GPU. Add a larger runner.",
  ],
  [
    { why: "share", accounts: 2 },
    "3 predictions queued. 2 accounts have reached the share of l40s per account (ACCOUNT_SHARE). It applies while others are waiting, and for 5 minutes after. Add a runner to shorten the wait.",
  ],
  [
    { why: "share" },
    "3 predictions queued. An account has reached the share of l40s per account (ACCOUNT_SHARE). It applies while others are waiting, and for 5 minutes after. Add a runner to shorten the wait.",
  ],
  [{ why: "held" }, "3 predictions queued. Containers of their models are starting or busy."],
  [
    { why: "reserved", jobs: 1, boxes: ["b3"], free_at: NOW + 40_000 },
    "1 prediction queued. box-3 is reserved for it and is expected to be free in about 40 s.",
  ],
  [
    { why: "reserved", jobs: 1, boxes: ["b3"], free_at: NOW - 1 },
    "1 prediction queued. box-3 is reserved for it and should be free by now, but its current work is taking longer than expected.",
  ],
  [
    { why: "declined", boxes: ["b3", "b4"] },
    "3 predictions queued. Declined by box-3, box-4. Check the runner logs or add a runner.",
  ],
])("the class reason %j has its text", (reason, expected) => {
  expect(text(reason)).toBe(expected);
});

test("the reason text says when a runner with free GPUs is kept for others", () => {
  expect(text({ jobs: 1, boxes: ["b3"] }, { used_gpus: 2 })).toBe(
    "1 prediction queued. box-3 is reserved for other predictions (2 of 4 GPUs busy). Add a runner to shorten the wait.",
  );
});

test("the reason text says when a container has room and its runner no slot", () => {
  expect(text({}, { lacks_slots: true })).toBe(
    "3 predictions queued. All 4 GPUs are busy. A container has capacity, but its runner has no free slot. Increase --slots or add a runner.",
  );
});

const REASONS = ["no-box", "too-small", "share", "held", "reserved", "declined", "busy"] as const;
const reason = (why: SomeReason["why"], jobs = 1): SomeReason => ({
  hardware: "l40s",
  gpus: 2,
  why,
  jobs,
  since: 0,
});

test.each(REASONS)("%s is told in whole sentences, and an owner is sent to an operator", (why) => {
  const [owner, operator] = [false, true].map((is) => modelWaitText(reason(why), is));
  for (const text of [owner, operator]) expect(text).toMatch(/^[A-Z].*\.$/);
  expect(operator).not.toContain("operator");
  const needsOperator = ["no-box", "too-small", "declined", "busy"].includes(why);
  expect(owner?.includes("Ask an operator")).toBe(needsOperator);
});

test.each(["share", "reserved", "declined"] as const)("%s speaks of one, or of several", (why) => {
  expect(modelWaitText(reason(why, 1), true)).toMatch(/\b[Ii]ts?\b/);
  const several = modelWaitText(reason(why, 2), true);
  expect(several).toMatch(/\b([Tt]heir|them)\b/);
  expect(several).not.toMatch(/\b[Ii]ts?\b/);
});
