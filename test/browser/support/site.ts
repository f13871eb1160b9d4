/** Deployments for browser tests: models, a relay before the Worker, users who sign up through the pages. */
import { type Browser, chromium, request } from "playwright-core";
import { expect, vi } from "vitest";
import { Client } from "../../../src/dev/client.ts";
import { newToken } from "../../../src/protocol/operator.ts";
import { OPERATOR_TOKEN, USERNAME } from "../../journey/support/access.ts";
import { World } from "../../journey/support/world.ts";
import { findChromium } from "./chromium.ts";
import { atEndOfWorker } from "./environment.ts";
import { type Session, Visitor, type VisitorOptions } from "./visitor.ts";

/** The operator, who owns the models of the world; all other users sign up. */
export const OPERATOR = USERNAME;

/**
 * Flags for a container, which has no user namespaces for a sandbox, and 64 MB of shared memory. The limit
 * keeps Chromium from starting a process in advance beside each visitor's own: that takes as much processor
 * time as two pages.
 */
const FLAGS = [
  "--no-sandbox",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  "--renderer-process-limit=1",
];

const SHARED = {
  SIGN_UP: "open",
  // Parts are small, so that a picture has several.
  UPLOAD_PART_MIB: "5",
  WEBHOOK_ALLOW_INSECURE: "true",
  // Each webhook is tried once: the retry comes an hour later.
  WEBHOOK_RETRY_SECONDS: "3600",
  // As in production: with five browsers beside it, a runner may take longer than the 1 and 2 s of journeys.
  CONNECT_SECONDS: "5",
  LEASE_SECONDS: "30",
};

let chromiumOfWorker: Promise<Browser> | undefined;
let siteOfWorker: Promise<Site> | undefined;

interface Options extends Omit<VisitorOptions, "session"> {
  /** The username of the visitor; not logged in by default. */
  as?: string;
}

export class Site {
  readonly url: string;
  readonly world: World;
  readonly #browser: Browser;
  readonly #isShared: boolean;
  readonly #sessions = new Map<string, Promise<Session>>();
  readonly #visitors = new Set<Visitor>();

  /**
   * Returns the site that all test files of a vitest worker use, one after the other: each has users of its
   * own, and finds a fleet without runners.
   */
  static shared(): Promise<Site> {
    siteOfWorker ??= Site.#open(SHARED, { isShared: true }).then((site) => {
      atEndOfWorker(() => site.world.close());
      return site;
    });
    return siteOfWorker;
  }

  /**
   * Opens a site for one test file.
   * @param variables that differ from wrangler.toml; sign-up is open
   * @param models whether there are any models; without them, there is only the operator
   */
  static open(
    variables: Record<string, string> = {},
    { models = true }: { models?: boolean } = {},
  ): Promise<Site> {
    return Site.#open({ SIGN_UP: "open", ...variables }, { models });
  }

  static async #open(
    variables: Record<string, string>,
    { models = true, isShared = false }: { models?: boolean; isShared?: boolean },
  ): Promise<Site> {
    chromiumOfWorker ??= launch();
    const [browser, world] = await Promise.all([
      chromiumOfWorker,
      World.open({ variables, ...(!models && { publish: async () => {} }) }),
    ]);
    const { url } = await world.relay();
    // The address has a name instead of a number, because passkeys are bound to a name.
    return new Site(url.replace("127.0.0.1", "localhost"), world, browser, isShared);
  }

  private constructor(url: string, world: World, browser: Browser, isShared: boolean) {
    this.url = url;
    this.world = world;
    this.#browser = browser;
    this.#isShared = isShared;
  }

  /** Opens a browser of its own, in which a user is logged in, or nobody. */
  async visitor({ as, ...options }: Options = {}): Promise<Visitor> {
    const session = as === undefined ? undefined : await this.#sessionOf(as);
    const visitor = await Visitor.arrive(this.#browser, this.url, {
      ...options,
      ...(session && { session }),
    });
    this.#visitors.add(visitor);
    return visitor;
  }

  /** Returns a client of the API with a token of a user who has signed up. */
  async clientOf(username: string): Promise<Client> {
    return new Client(this.url, await this.tokenOf(username));
  }

  async tokenOf(username: string): Promise<string> {
    await this.#sessionOf(username);
    const path = `/operator/users/${username}/tokens`;
    const body = { name: "tests in a browser" };
    const { token } = await this.world.operator.call(newToken, "POST", path, { body });
    return token;
  }

  /** Closes the open browsers, and checks that they had no faults: after each test. */
  async leave(): Promise<void> {
    const visitors = [...this.#visitors];
    this.#visitors.clear();
    const left = await Promise.allSettled(visitors.map((visitor) => visitor.leave()));
    for (const one of left) if (one.status === "rejected") throw one.reason;
  }

  /** Closes the site, or empties the fleet of a shared one: after each file. */
  async close(): Promise<void> {
    try {
      await this.leave();
    } finally {
      await (this.#isShared ? this.#removeRunners() : this.world.close());
    }
  }

  async #removeRunners(): Promise<void> {
    await this.world.retireRunners();
    const { operator } = this.world;
    for (const { id } of await this.world.runnerStates())
      await vi.waitFor(async () => {
        const { status } = await operator.fetch("DELETE", `/operator/runners/${id}`);
        expect(status).toBe(200);
      });
  }

  /** Returns the session of a user, who signs up once; later visitors share the session. */
  #sessionOf(username: string): Promise<Session> {
    const known = this.#sessions.get(username) ?? this.#comeIn(username);
    this.#sessions.set(username, known);
    return known;
  }

  /**
   * Makes an account by the form of the page, without a browser, which would take ten times as long. The
   * operator's may be one that the API has made.
   */
  async #comeIn(username: string): Promise<Session> {
    const isOperator = username === OPERATOR;
    const path = isOperator ? "/set-up" : "/sign-up";
    const client = await request.newContext({ baseURL: this.url });
    try {
      const page = await (await client.get(path)).text();
      const [, form_token = ""] = /<meta name="form-token" content="(\w+)"/.exec(page) ?? [];
      const answer = await client.post(path, {
        headers: { origin: this.url },
        form: {
          form_token,
          ...(isOperator && { operator_token: OPERATOR_TOKEN }),
          username,
          name: nameOf(username),
          email: emailOf(username),
          password: PASSWORD,
        },
      });
      expect(answer.status(), await answer.text()).toBe(200);
      // The notice that this person is an operator is for their first page alone.
      await client.get("/models", { headers: { accept: "text/html" } });
      return await client.storageState();
    } finally {
      await client.dispose();
    }
  }
}

async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error("There is no Chromium: install Debian's, or set CHROMIUM_PATH.");
  }
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  atEndOfWorker(() => browser.close());
  return browser;
}

export const PASSWORD = "a wise old owl";

export const emailOf = (username: string) => `${username}@example.com`;

const nameOf = (username: string) => `${username} of the tests`;

/** Makes an account that anybody may make. Ends at the first page. */
export async function signUp(visitor: Visitor, username: string): Promise<void> {
  await visitor.open("/sign-up");
  await fillAccount(visitor, username);
  await visitor.page.getByRole("button", { name: "Create account" }).click();
  await visitor.arrives("/");
}

/** Logs in; ends at the page that this leads to. */
export async function signIn(
  visitor: Visitor,
  username: string,
  password = PASSWORD,
): Promise<void> {
  const { page } = visitor;
  if (new URL(page.url()).pathname !== "/sign-in") await visitor.open("/sign-in");
  await page.getByLabel("Email").fill(emailOf(username));
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
}

/** Logs out by the menu, which is on every page. */
export async function signOut(visitor: Visitor): Promise<void> {
  await visitor.page.locator("header summary").click();
  await visitor.page.getByRole("button", { name: "Log out", exact: true }).first().click();
  await visitor.arrives("/sign-in");
}

/** Fills in the fields of a new account, in any of the forms with them. */
export async function fillAccount({ page }: Visitor, username: string): Promise<void> {
  await page.getByLabel("Username").fill(username);
  await page.getByLabel(/^Name/).fill(nameOf(username));
  await page.getByLabel("Email").fill(emailOf(username));
  await page.getByLabel("Password").fill(PASSWORD);
}
