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
  ["all 4 GPUs are busy", {}],
  ["the only GPU is busy", { boxes: 1, box_gpus: 1, used_gpus: 1 }],
  ["all 2 runners are busy", { gpus: 0, box_gpus: 0, used_gpus: 0 }],
  ["its only runner is busy", { gpus: 0, boxes: 1 }],
  [
    "no runner has a slot and 4 GPUs free, with 6 of 8 GPUs busy",
    { gpus: 4, box_gpus: 8, used_gpus: 6 },
  ],
])("the text about boxes is right: %s", (why, boxes) => {
  expect(text({}, boxes)).toBe(`3 predictions wait: ${why}. Another runner would help.`);
});

test.each<[Partial<ClassReason>, string]>([
  [
    { why: "no-box", jobs: 1 },
    "1 prediction waits: no runner that takes work serves l40s. Start one, or resume one that drains.",
  ],
  [
    { why: "too-small" },
    "3 predictions wait: no runner of l40s has 1 working GPU. A larger one would help.",
  ],
  [
    { why: "share", accounts: 2 },
    "3 predictions wait: 2 accounts have their shares (ACCOUNT_SHARE) while others want l40s, or did within 5 minutes. Another runner would help.",
  ],
  [
    { why: "share" },
    "3 predictions wait: an account has its share (ACCOUNT_SHARE) while others want l40s, or did within 5 minutes. Another runner would help.",
  ],
  [{ why: "held" }, "3 predictions wait for containers of their models, which start or are busy."],
  [
    { why: "reserved", jobs: 1, boxes: ["b3"], free_at: NOW + 40_000 },
    "1 prediction waits for box-3, which is kept for that, and is expected to be free in about 40 s.",
  ],
  [
    { why: "reserved", jobs: 1, boxes: ["b3"], free_at: NOW - 1 },
    "1 prediction waits for box-3, which is kept for that, and should be free by now: what runs there takes longer than expected.",
  ],
  [
    { why: "declined", boxes: ["b3", "b4"] },
    "3 predictions wait: declined by box-3, box-4 as they are now. Look at their logs; another runner would help.",
  ],
])("the class reason %j has its text", (reason, expected) => {
  expect(text(reason)).toBe(expected);
});

test("the reason text says when a runner with free GPUs is kept for others", () => {
  expect(text({ jobs: 1, boxes: ["b3"] }, { used_gpus: 2 })).toBe(
    "1 prediction waits: box-3 is kept for other predictions, with 2 of 4 GPUs busy. Another runner would help.",
  );
});

test("the reason text says when a container has room and its runner no slot", () => {
  expect(text({}, { lacks_slots: true })).toBe(
    "3 predictions wait: all 4 GPUs are busy. There is a container with room on a runner without a free slot: more slots (--slots) or another runner would help.",
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
