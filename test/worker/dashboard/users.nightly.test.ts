/** Invitations that are withdrawn, and those that their users see on every page. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { signedUp, signedUpOperator, Visitor } from "../support/visitor.ts";
import { unique } from "../support/world.ts";

const { settings } = getServices(env);

/** Opens an invitation as client code does with its link. */
async function opened(visitor: Visitor, invitation: string) {
  const { location } = await visitor.send("/sign-up/invitation", { invitation });
  return visitor.look(location ?? "");
}

beforeEach(() => {
  settings.signUp = "invitation";
});
afterEach(() => {
  settings.signUp = "open";
  vi.useRealTimers();
});

describe("sign-up by invitation", () => {
  it("an invitation can be withdrawn", async () => {
    settings.signUp = "open";
    const { visitor } = await signedUpOperator(env.OPERATOR_TOKEN);
    const note = unique("Ben");
    const { html } = await visitor.send("/users/invitations", { note });
    const [, token = ""] = /#invitation=(ausi_\w+)<\/code>/.exec(html) ?? [];
    const [, action = ""] = new RegExp(`${note}</bdi></th>.*?action="([^"]+)"`).exec(html) ?? [];
    expect(html).toContain('data-confirm="Revoke this invitation?');
    expect((await visitor.send(action)).location).toBe("/users");
    expect((await visitor.send(action)).status).toBe(409);
    settings.signUp = "invitation";
    expect((await opened(new Visitor(), token)).html).not.toContain("Invitation for");
  });
});

describe("an invitation for an existing user", () => {
  beforeEach(() => {
    settings.signUp = "open";
  });

  it("an invitation is shown to its user on every page, until they confirm it", async () => {
    const { username, email } = await signedUp();
    const operator = await signedUpOperator(env.OPERATOR_TOKEN);
    const fields = { note: "Lost it", username };
    const { html: shown } = await operator.visitor.send("/users/invitations", fields);
    const [, invitation = ""] = /invitation=(ausi_\w+)/.exec(shown) ?? [];
    const password = "another long password";
    // The visitor may be anybody with the link, such as the operator.
    await new Visitor().send("/sign-up", { invitation, password });
    const visitor = new Visitor();
    await visitor.send("/sign-in", { email, password });
    const told = "with a link that an operator created";
    for (const page of ["/tokens", "/models"])
      expect((await visitor.look(page)).html).toContain(told);
    const { html } = await visitor.look("/account/security");
    expect(html).toContain(`Created by ${operator.username} on`);
    const [, until = ""] = /name="until" value="(\d+)"/.exec(html) ?? [];
    await visitor.send("/account/security/recoveries/read", { until: String(Number(until) - 1) });
    expect((await visitor.look("/tokens")).html).toContain(told);
    await visitor.send("/account/security/recoveries/read", { until });
    expect((await visitor.look("/tokens")).html).not.toContain(told);
    expect((await visitor.look("/account/security")).html).toContain(
      `Created by ${operator.username} on`,
    );
  });
});
