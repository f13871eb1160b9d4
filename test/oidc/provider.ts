/** A real OpenID Connect provider on loopback, whose people and tokens the tests decide. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeJwt, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { type ClientMetadata, type JWKS, Provider } from "oidc-provider";
import { CLIENT, type ProviderPerson } from "./person.ts";
import { Storage } from "./storage.ts";

const SCOPES = "openid email profile";

/** The endpoint of a login, whose page asks for a person. */
const LOGIN = /^\/interaction\/[\w-]+/;

export class OidcServer {
  readonly issuer: string;
  readonly people = new Map<string, ProviderPerson>();
  readonly #server: ReturnType<typeof createServer>;
  readonly #client: ClientMetadata;
  readonly #storage = new Storage();
  #keys: JWK[] = [];
  #provider: Provider | undefined;

  static async open(redirectUris: string[]): Promise<OidcServer> {
    const server = createServer({ keepAliveTimeout: 0 });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const opened = new OidcServer(server, redirectUris);
    await opened.rotate();
    return opened;
  }

  private constructor(server: ReturnType<typeof createServer>, redirectUris: string[]) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#client = {
      client_id: CLIENT.clientId,
      client_secret: CLIENT.clientSecret,
      redirect_uris: redirectUris,
    };
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Sends people back to these addresses only. */
  redirectTo(uris: string[]): void {
    this.#client.redirect_uris = uris;
    this.#provider = this.#made();
  }

  /** Signs with a new key. The one before stays published for the tokens that it has signed. */
  async rotate(): Promise<void> {
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), use: "sig" };
    this.#keys = [key, ...this.#keys.slice(0, 1)];
    this.#provider = this.#made();
  }

  /** Logs a person in as their browser would. @returns the address to which they are sent back */
  async authorize(address: string, sub: string): Promise<string> {
    const cookies = new Map<string, string>();
    for (let url = address; ; ) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(url, { redirect: "manual", headers: { cookie } });
      for (const set of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        cookies.set(name, value);
      }
      const next = response.headers.get("location");
      if (next === null)
        throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
      const there = new URL(next, url);
      if (there.origin !== this.issuer) return there.href;
      if (LOGIN.test(there.pathname)) there.searchParams.set("person", sub);
      url = there.href;
    }
  }

  #made(): Provider {
    const jwks = { keys: this.#keys } as JWKS;
    const provider = new Provider(this.issuer, {
      jwks,
      adapter: (model) => this.#storage.of(model),
      clients: [this.#client],
      claims: {
        openid: ["sub"],
        email: ["email", "email_verified"],
        profile: ["name", "preferred_username", "groups", "_claim_names"],
      },
      conformIdTokenClaims: false,
      cookies: { keys: ["a key of cookies"] },
      features: { devInteractions: { enabled: false } },
      findAccount: (_, sub) => {
        const { claims = {}, thin } = this.people.get(sub) ?? {};
        const isShown = (use: string) => !thin || use === "userinfo";
        return {
          accountId: sub,
          claims: async (use) => (isShown(use) ? { sub, ...claims } : { sub }),
        };
      },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      loadExistingGrant: async ({ oidc }) => {
        const { client, session } = oidc;
        if (!client || !session?.accountId) return undefined;
        const { accountId } = session;
        const grant = new oidc.provider.Grant({ clientId: client.clientId, accountId });
        grant.addOIDCScope(SCOPES);
        await grant.save();
        return grant;
      },
      pkce: { required: () => true },
    });
    return provider;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const provider = this.#provider;
    const url = new URL(request.url ?? "/", this.issuer);
    if (!provider) return;
    if (!LOGIN.test(url.pathname)) {
      if (url.pathname === "/token") this.#forge(response);
      provider.callback()(request, response);
      return;
    }
    const accountId = url.searchParams.get("person");
    if (accountId === null) response.end(this.#loginPage());
    else await provider.interactionFinished(request, response, { login: { accountId } });
  }

  #loginPage(): string {
    const names = [...this.people.keys()];
    const buttons = names.map((sub) => `<button name="person" value="${sub}">${sub}</button>`);
    return `<!doctype html><title>Log in</title><form>${buttons.join("")}</form>`;
  }

  /** Signs the ID token of an answer again, with the forged claims of its person. */
  #forge(response: ServerResponse): void {
    const end = response.end.bind(response);
    const forged = async (body: string) => {
      const answer: { id_token?: string } = JSON.parse(body);
      if (answer.id_token === undefined) return body;
      const claims = decodeJwt(answer.id_token);
      const others = this.people.get(claims.sub ?? "")?.forged;
      const [key] = this.#keys;
      if (!others || !key) return body;
      const { kid = "" } = key;
      const payload = Object.fromEntries(
        Object.entries({ ...claims, ...others }).filter(([, value]) => value !== null),
      );
      const token = new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid });
      return JSON.stringify({ ...answer, id_token: await token.sign(key) });
    };
    response.end = (body: unknown) => {
      void forged(String(body)).then((text) => {
        response.setHeader("content-length", Buffer.byteLength(text));
        end(text);
      });
      return response;
    };
  }
}
