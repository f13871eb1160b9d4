/** Random changes of an organization against the rules of access: what they allow is what the guide's table says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ROOT } from "../../../src/dev/bundle.ts";
import {
  type Access,
  accessToAccount,
  accessToConversation,
  accessToModel,
  accessToPrediction,
  accessToUpload,
  type ModelUse,
  type Principal,
} from "../../../src/domain/accounts/access.ts";
import { ROLES, type Role, type ShareLevel } from "../../../src/protocol/organization.ts";
import { sized } from "../../support/sized.ts";

/** The rows of the table in the guide "Teams": the roles that have each of the four rights. */
const [USES = [], SEES_ALL = [], MANAGES = [], OWNS = []] = readFileSync(
  join(ROOT, "src/dashboard/guides/teams.md"),
  "utf8",
)
  .split("\n")
  .filter((line) => /^\| .*✓ \|$/.test(line))
  .map((line) => {
    const cells = line.split("|").slice(2, 2 + ROLES.length);
    return ROLES.filter((_, column) => cells[column]?.includes("✓"));
  });

const PEOPLE = 5;
const ORGANIZATION = "acme";
const MODELS = ["m1", "m2"];

const person = fc.nat(PEOPLE - 1);
const role = fc.constantFrom(...ROLES);
const model = fc.constantFrom(...MODELS);
const level = fc.constantFrom<(ShareLevel | null)[]>("run", "write", null);
const change = fc.oneof(
  fc.record({ kind: fc.constant("invite" as const), by: person, whom: person, role }),
  fc.record({ kind: fc.constant("role" as const), by: person, whom: person, role }),
  fc.record({ kind: fc.constant("remove" as const), by: person, whom: person }),
  fc.record({ kind: fc.constant("share" as const), by: person, whom: person, model, level }),
  fc.record({ kind: fc.constant("rename" as const), by: person }),
  fc.record({ kind: fc.constant("delete model" as const), by: person, model }),
  fc.record({ kind: fc.constant("service" as const), by: person, role }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const nameOf = (n: number) => `person ${n}`;

/** An organization whose changes are decided by the rules, and each decision compared with the table. */
class Scene {
  readonly roles = new Map<number, Role>([[0, "owner"]]);
  readonly shares = new Map<string, ShareLevel>();
  readonly models = new Set(MODELS);
  readonly services: Role[] = [];

  /** The principal of a person's token for the organization. Undefined: it has ended. */
  member(n: number): Principal | undefined {
    const role = this.roles.get(n);
    return role && principalOf(ORGANIZATION, nameOf(n), role);
  }

  apply(one: Change): void {
    const by = this.member(one.by);
    const held = this.roles.get(one.by);
    const has = (allowed: Role[]) => held !== undefined && allowed.includes(held);
    const may = (least: Role) => by !== undefined && accessToAccount(by, least) === "granted";
    const mayUse = (id: string, use: ModelUse) =>
      by !== undefined && accessToModel(by, modelOf(id), use) === "granted";
    const decided = (allowed: boolean, expected: boolean): boolean => {
      if (allowed !== expected) expect.fail(`${JSON.stringify(one)} by ${held}: ${allowed}`);
      return allowed;
    };
    if (one.kind === "rename") decided(may("owner"), has(OWNS));
    else if (one.kind === "service") {
      const least = one.role === "owner" ? "owner" : "admin";
      if (decided(may(least), has(one.role === "owner" ? OWNS : MANAGES)))
        this.services.push(one.role);
    } else if (one.kind === "delete model") {
      if (decided(mayUse(one.model, "change"), has(SEES_ALL))) this.models.delete(one.model);
    } else if (one.kind === "share") {
      if (!decided(mayUse(one.model, "share"), has(MANAGES))) return;
      const key = `${one.model} ${one.whom}`;
      if (one.level) this.shares.set(key, one.level);
      else this.shares.delete(key);
    } else this.#changeMember(one, decided, may, has);
  }

  #changeMember(
    one: Extract<Change, { whom: number; kind: "invite" | "role" | "remove" }>,
    decided: (allowed: boolean, expected: boolean) => boolean,
    may: (least: Role) => boolean,
    has: (allowed: Role[]) => boolean,
  ): void {
    const theirs = this.roles.get(one.whom);
    const given = one.kind === "remove" ? undefined : one.role;
    const isOfOwners = theirs === "owner" || given === "owner";
    const isSelf = one.kind === "remove" && one.by === one.whom;
    if (!isSelf && !decided(may(isOfOwners ? "owner" : "admin"), has(isOfOwners ? OWNS : MANAGES)))
      return;
    const owners = [...this.roles.values()].filter((held) => held === "owner").length;
    if (theirs === "owner" && given !== "owner" && owners === 1) return;
    if ((theirs === undefined) !== (one.kind === "invite")) return;
    if (given === undefined) this.roles.delete(one.whom);
    else this.roles.set(one.whom, given);
  }

  check(): void {
    expect([...this.roles.values()]).toContain("owner");
    for (let n = 0; n < PEOPLE; n++) {
      const member = this.member(n);
      if (member) expectTable(member);
      for (const id of this.models) this.#expectOwnToken(n, id);
    }
    for (const [n, held] of this.services.entries())
      expectTable(principalOf(ORGANIZATION, `service ${n}`, held));
  }

  /** A person's own token uses the models of their organizations, and those that are shared with them. */
  #expectOwnToken(n: number, id: string): void {
    const share = this.shares.get(`${id} ${n}`) ?? null;
    const level = share ?? (this.roles.has(n) ? "run" : null);
    const own = principalOf(nameOf(n), "", "owner");
    const access = (use: ModelUse) => accessToModel(own, { ...modelOf(id), level }, use);
    const granted = (isGranted: boolean, other: Access) => (isGranted ? "granted" : other);
    const refused = level === null ? "hidden" : "owner only";
    expect([access("read"), access("run"), access("write")]).toEqual([
      granted(level !== null, "hidden"),
      granted(level !== null, "hidden"),
      granted(share === "write", refused),
    ]);
    expect([access("change"), access("share")]).toEqual([refused, refused]);
    expect(accessToPrediction(own, madeBy(nameOf(n)))).toBe("hidden");
  }
}

const principalOf = (user_id: string, maker: string, role: Role): Principal => {
  return { token_id: `token of ${maker}`, user_id, maker, role, models: null };
};

const modelOf = (id: string) => {
  return { id, owner_id: ORGANIZATION, visibility: "private", level: null } as const;
};

const madeBy = (maker: string) => {
  return {
    user_id: ORGANIZATION,
    maker,
    client_id: "",
    model_id: "m1",
    token_id: null,
    models: null,
  };
};

/** Checks that a principal of the organization has the rights of its role in the table, and no others. */
function expectTable(principal: Principal): void {
  const { role, maker } = principal;
  const uses = (use: ModelUse) => accessToModel(principal, modelOf("m1"), use);
  const [own, others] = [madeBy(maker), madeBy("somebody else")];
  const rights: [Role[], Access[]][] = [
    [USES, [uses("read"), uses("run"), accessToPrediction(principal, own)]],
    [USES, [accessToUpload(principal, own), accessToConversation(principal, own)]],
    [SEES_ALL, [accessToPrediction(principal, others), accessToUpload(principal, others)]],
    [SEES_ALL, [accessToConversation(principal, others), uses("write"), uses("change")]],
    [SEES_ALL, [accessToAccount(principal, "developer")]],
    [MANAGES, [uses("share"), accessToAccount(principal, "admin")]],
    [OWNS, [accessToAccount(principal, "owner")]],
  ];
  for (const [row, [allowed, found]] of rights.entries())
    if (found.some((access) => (access === "granted") !== allowed.includes(role)))
      expect.fail(`${role}, rights ${row}: ${found}`);
}

test("the guide's table gives each role the rights of those below it", () => {
  expect([USES, SEES_ALL, MANAGES, OWNS]).toEqual(ROLES.map((_, least) => ROLES.slice(least)));
});

test("no sequence of changes gives anybody more than the guide's table and the shares", () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 5, maxLength: 30 }), (changes) => {
      const scene = new Scene();
      for (const one of changes) scene.apply(one);
      scene.check();
    }),
    { numRuns: sized(2_000, 20_000) },
  );
});
