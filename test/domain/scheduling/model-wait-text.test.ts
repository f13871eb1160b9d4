/** The texts for owners and operators about why predictions of a model wait. */
import { expect, test } from "vitest";
import type { SomeReason } from "../../../src/domain/scheduling/decide/explain-class.ts";
import { modelWaitText } from "../../../src/domain/scheduling/explanation.ts";

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
