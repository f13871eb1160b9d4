/** The deployment of one file of browser tests: models, a relay before it, Chromium, users. */
import { type Browser, chromium } from "playwright-core";
import { Client } from "../../../src/dev/client.ts";
import { newToken } from "../../../src/protocol/operator.ts";
import { OPERATOR_TOKEN, USERNAME } from "../../journey/support/access.ts";
import { World } from "../../journey/support/world.ts";
import { findChromium } from "./chromium.ts";
import { setUp, signUp } from "./people.ts";
import { type Session, Visitor, type VisitorOptions } from "./visitor.ts";

/** The operator, who owns the models of the world; all other users sign up. */
export const OPERATOR = USERNAME;

/** Flags for a container, which has no user namespaces for a sandbox, and 64 MB of shared memory. */
const FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];

interface Options extends Omit<VisitorOptions, "session"> {
  /** The username of the visitor; not signed in by default. */
  as?: string;
}

export class Site {
  readonly url: string;
  readonly world: World;
  readonly #browser: Browser;
  readonly #sessions = new Map<string, Promise<Session>>();
  readonly #visitors = new Set<Visitor>();

  /**
   * @param variables that differ from wrangler.toml; sign-up is open
   * @param models whether there are any models; without them, there is only the operator
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
      // The address has a name instead of a number, because passkeys are bound to a name.
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

  /** Opens a browser of its own, in which a user is signed in, or nobody. */
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

  async close(): Promise<void> {
    try {
      await this.leave();
    } finally {
      await this.#browser.close();
      await this.world.close();
    }
  }

  /** Returns the session of a user, who signs in once by the real pages; later visitors share the session. */
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
