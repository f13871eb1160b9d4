import { expect, test } from "vitest";
import { AnnouncedJobs } from "../../../src/domain/scheduling/announced-jobs.ts";

test("an account's announced jobs are counted once each until they arrive", () => {
  const jobs = new AnnouncedJobs();
  jobs.announce("a", "ada", 0);
  jobs.announce("a", "ada", 1);
  jobs.announce("b", "ada", 1);
  jobs.announce("c", "bob", 1);
  expect([jobs.count("ada", 2), jobs.count("bob", 2), jobs.count("eve", 2)]).toEqual([2, 1, 0]);
  jobs.remove("a");
  jobs.remove("a");
  expect(jobs.count("ada", 2)).toBe(1);
});

test("an announced job that has not arrived within a minute counts no longer", () => {
  const jobs = new AnnouncedJobs();
  jobs.announce("a", "ada", 0);
  jobs.announce("b", "ada", 30_000);
  expect(jobs.count("ada", 60_000)).toBe(2);
  expect(jobs.count("ada", 60_001)).toBe(1);
  expect(jobs.count("ada", 90_001)).toBe(0);
});
