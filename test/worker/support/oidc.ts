/** The OpenID Connect provider, in Node. All tests share it, so each has people of its own. */
import { expect, inject } from "vitest";
import type { OidcSettings } from "../../../src/env-oidc.ts";
import { CLIENT, type Command, type ORIGINS, type ProviderPerson } from "../../oidc/person.ts";
import { Visitor } from "./visitor.ts";
import { unique } from "./world.ts";

const initial = (): OidcSettings => ({
  ...CLIENT,
  issuer: inject("oidc").issuer,
  name: "Acme",
  domains: [],
  groups: new Map(),
  groupsClaim: "groups",
  lapseMs: 7 * 86_400_000,
});

const shared = initial();

/**
 * Returns the settings of a deployment with the provider, as they are initially. They are one object for all test
 * files: the service keeps the first that it has seen.
 */
export const oidcSettings = (): OidcSettings => Object.assign(shared, initial());

async function command(body: Command): Promise<string> {
  const response = await fetch(inject("oidc").door, { method: "POST", body: JSON.stringify(body) });
  const done: string = JSON.parse(await response.text());
  return done;
}

export const rotateKeys = () => command({ verb: "rotate" });

/** Adds a person to the provider, or replaces what it says of them. */
export async function newPerson(about: Partial<ProviderPerson> = {}): Promise<ProviderPerson> {
  const sub = about.sub ?? unique("sub");
  const person = {
    ...about,
    sub,
    claims: { email: `${sub}@example.com`, email_verified: true, name: "Eve", ...about.claims },
  };
  await command({ verb: "person", person });
  return person;
}

type Origin = (typeof ORIGINS)[number];

/** A browser at one of the origins, which the provider leads back to. */
export class OidcVisitor extends Visitor {
  readonly #origin: Origin;

  constructor(origin: Origin) {
    super(origin);
    this.#origin = origin;
  }

  /** Begins a login or a link. @returns the provider's address */
  async leave(next = "/", path = "/sign-in/oidc"): Promise<string> {
    const { headers, status } = await this.send(path, { next });
    expect(status).toBe(200);
    const [, url = ""] = /^0;url=(.*)/.exec(headers.get("refresh") ?? "") ?? [];
    return url;
  }

  /** Logs in at the provider. @returns the address of the callback */
  async meet({ sub }: ProviderPerson, url: string): Promise<string> {
    const location = await command({ verb: "authorize", url, sub });
    return location.replace(this.#origin, "");
  }

  /** Comes back from the provider. @returns the address of the page after that */
  async arrive(callback: string): Promise<string | undefined> {
    const { location } = await this.look(callback);
    return location?.replace(this.#origin, "");
  }

  /** Logs in with the provider. @returns the address of the page after that */
  async enter(person: ProviderPerson, next = "/"): Promise<string | undefined> {
    return this.arrive(await this.meet(person, await this.leave(next)));
  }

  /** Logs in for the first time, and chooses a username. */
  async join(person: ProviderPerson): Promise<string> {
    expect(await this.enter(person)).toBe("/welcome");
    await this.look("/welcome");
    const username = unique("eve");
    expect((await this.send("/welcome", { username, name: "Eve" })).location).toBe("/");
    await this.look("/");
    return username;
  }
}
