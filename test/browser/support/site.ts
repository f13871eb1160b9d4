/** A deployment as one file of browser tests has it: models, a relay before it, Chromium, people. */
import { type Browser, chromium } from "playwright-core";
import { Client } from "../../../src/dev/client.ts";
import { newToken } from "../../../src/protocol/operator.ts";
import { OPERATOR_TOKEN, USERNAME } from "../../journey/support/access.ts";
import { World } from "../../journey/support/world.ts";
import { findChromium } from "./chromium.ts";
import { setUp, signUp } from "./people.ts";
import { type Session, Visitor, type VisitorOptions } from "./visitor.ts";

/** The operator, whose are the models of the world; everybody else is who signs up. */
export const OPERATOR = USERNAME;

/** A container has no user namespaces to sandbox with, and 64 MB of shared memory. */
const FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];

interface Options extends Omit<VisitorOptions, "session"> {
  /** Who it is, by username; nobody otherwise. */
  as?: string;
}

export class Site {
  readonly url: string;
  readonly world: World;
  readonly #browser: Browser;
  readonly #sessions = new Map<string, Promise<Session>>();
  readonly #visitors = new Set<Visitor>();

  /**
   * @param variables that differ from wrangler.toml; sign-up is open.
   * @param models whether there are any; without, there is nothing but the operator.
   */
  static async open(
    variables: Record<string, string> = {},
    { models = true }: { models?: boolean } = {},
  ): Promise<Site> {
    const browser = await launch();
    try {
      const world = await World.open({
        variables: { SIGN_UP: "open", ...variables },
        ...(!models && { publish: async () => {} }),
      });
      const { url } = await world.relay();
      // By name, not by number: passkeys are bound to a name.
      return new Site(url.replace("127.0.0.1", "localhost"), world, browser);
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  private constructor(url: string, world: World, browser: Browser) {
    this.url = url;
    this.world = world;
    this.#browser = browser;
  }

  /** A browser of its own, in which somebody is signed in, or nobody. */
  async visitor({ as, ...options }: Options = {}): Promise<Visitor> {
    const session = as === undefined ? undefined : await this.#sessionOf(as);
    const visitor = await Visitor.arrive(this.#browser, this.url, {
      ...options,
      ...(session && { session }),
    });
    this.#visitors.add(visitor);
    return visitor;
  }

  /** A client of the API with a token of somebody who has signed up. */
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

  /** Closes the browsers that are open, and looks that nothing went wrong in them: after each test. */
  async leave(): Promise<void> {
    const visitors = [...this.#visitors];
    this.#visitors.clear();
    const left = await Promise.allSettled(visitors.map((visitor) => visitor.leave()));
    for (const one of left) if (one.status === "rejected") throw one.reason;
  }

  async close(): Promise<void> {
    try {
      await this.leave();
    } finally {
      await this.#browser.close();
      await this.world.close();
    }
  }

  /** Everybody comes in once, by the real pages; who is them later has the same session. */
  #sessionOf(username: string): Promise<Session> {
    const known = this.#sessions.get(username) ?? this.#comeIn(username);
    this.#sessions.set(username, known);
    return known;
  }

  async #comeIn(username: string): Promise<Session> {
    const visitor = await Visitor.arrive(this.#browser, this.url);
    if (username === OPERATOR) await setUp(visitor, username, OPERATOR_TOKEN);
    else await signUp(visitor, username);
    const session = await visitor.session();
    await visitor.leave();
    return session;
  }
}

async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error("There is no Chromium: install Debian's, or set CHROMIUM_PATH.");
  }
  return chromium.launch({ executablePath, args: FLAGS });
}
