/** The bodies of messages about alerts, held against schemas of their receivers. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { AlertRow } from "../../../src/domain/alerts/life.ts";
import {
  discordMessage,
  pagerDutyEvent,
  slackMessage,
  type Told,
  webhookMessage,
} from "../../../src/domain/alerts/messages.ts";
import { alertMessage } from "../../../src/protocol/alert.ts";

const NOW = Date.parse("2026-07-01T12:00:00.000Z");
const ORIGIN = "https://auspex.example.com";

const row = (changes: Partial<AlertRow> = {}): AlertRow => ({
  ...{ id: "0197c000-0000-7000-8000-000000000001", rule: "runner_lost", level: "bad" },
  ...{ subject: "0197c000-0000-7000-8000-000000000002", name: "rack-1", text: "Offline." },
  ...{ since: NOW - 180_000, ended_at: null, notified_at: null, end_notified_at: null },
  ...{ claimed_at: null, error: null, silenced_until: null, silenced_by: null },
  ...changes,
});
const began: Told = { row: row(), kind: "begin" };
const ended: Told = { row: row({ ended_at: NOW, notified_at: NOW - 1 }), kind: "end" };
const many = Array.from(
  { length: 40 },
  (): Told => ({
    row: row({ text: "y".repeat(5_000) }),
    kind: "begin",
  }),
);

test("a message of the format webhook has all alerts that began or ended", () => {
  const message = alertMessage.parse(webhookMessage([began, ended], ORIGIN, NOW));
  expect(message.alerts).toMatchObject([
    { event: "began", severity: "critical", title: "Runner lost", ended_at: null },
    { event: "ended", ended_at: "2026-07-01T12:00:00.000Z" },
  ]);
  expect(message.alerts[0]?.url).toBe(`${ORIGIN}/docs/runners`);
});

test("an alert about a model links its charts", () => {
  const failing = row({ rule: "model_failing", subject: "ada/story", name: "ada/story" });
  const { alerts } = webhookMessage([{ row: failing, kind: "begin" }], ORIGIN, NOW);
  expect(alerts[0]?.url).toBe(`${ORIGIN}/fleet/metrics?model=ada%2Fstory`);
});

test("a message for Slack is one text in which names make no mention or link", () => {
  const slack = z.strictObject({ text: z.string().max(40_000) });
  const named = { ...began, row: row({ name: "<!channel> & co" }) };
  expect(slack.parse(slackMessage([named, ended], ORIGIN)).text).toBe(
    [
      `Began: *<${ORIGIN}/docs/runners|Runner lost>* (&lt;!channel&gt; &amp; co). Offline. Check the machine and its network and restart the runner, or remove it if it is gone for good.`,
      `Ended: *<${ORIGIN}/docs/runners|Runner lost>* (rack-1).`,
    ].join("\n"),
  );
  const lines = slack.parse(slackMessage(many, "")).text.split("\n");
  expect(lines).toHaveLength(16);
  expect(lines.at(-1)).toBe("And 25 more.");
});

test("a message for Discord has at most 2,000 characters and mentions nobody", () => {
  const discord = z.strictObject({
    content: z.string().min(1).max(2_000),
    allowed_mentions: z.strictObject({ parse: z.tuple([]) }),
  });
  const named = { ...began, row: row({ name: "[x](http://evil)" }) };
  expect(discord.parse(discordMessage([named], ORIGIN)).content).toContain("\\[x\\]\\(http");
  expect(discord.parse(discordMessage(many, "")).content).toMatch(/\n…$/);
});

test("an event for PagerDuty opens an incident by the alert's id, and resolves the same one", () => {
  const event = z.discriminatedUnion("event_action", [
    z.strictObject({
      routing_key: z.string().length(32),
      event_action: z.literal("trigger"),
      dedup_key: z.string().max(255),
      client: z.string(),
      client_url: z.url(),
      links: z.array(z.strictObject({ href: z.url(), text: z.string() })),
      payload: z.strictObject({
        summary: z.string().max(1_024),
        source: z.string(),
        severity: z.enum(["critical", "error", "warning", "info"]),
        timestamp: z.iso.datetime(),
        class: z.string(),
        custom_details: z.record(z.string(), z.string()),
      }),
    }),
    z.strictObject({
      routing_key: z.string().length(32),
      event_action: z.literal("resolve"),
      dedup_key: z.string().max(255),
    }),
  ]);
  const key = "r".repeat(32);
  const opens = event.parse(pagerDutyEvent(began, key, ORIGIN));
  const closes = event.parse(pagerDutyEvent(ended, key, ORIGIN));
  expect([opens.event_action, closes.event_action]).toEqual(["trigger", "resolve"]);
  expect(closes.dedup_key).toBe(opens.dedup_key);
  for (const told of many) event.parse(pagerDutyEvent(told, key, ORIGIN));
});
