/** A browser without client code: it keeps cookies, reads pages, and sends forms as they were served. */
import { exports } from "cloudflare:workers";
import { addressIn } from "../../../src/dashboard/addresses.ts";
import { ORIGIN } from "./client.ts";
import { unique } from "./world.ts";

export const PASSWORD = "a long enough password";

interface Answer {
  status: number;
  headers: Headers;
  /** The address of the page, after redirects when they were followed. */
  path: string;
  html: string;
  /** The path of a redirect. */
  location: string | undefined;
}

type Fields = Record<string, string | File | string[]>;

export class Visitor {
  readonly cookies = new Map<string, string>();
  readonly #origin: string;

  /** The beginning of addresses of pages of the account. */
  readonly base: string;

  constructor(origin = ORIGIN, base = "") {
    this.#origin = origin;
    this.base = base;
  }

  /** The form token of the last page. */
  formToken = "";

  /** Requests a page without following redirects. */
  async look(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request(path, { headers: { accept: "text/html", ...headers } });
  }

  /** Sends a form of the last page. */
  async send(
    path: string,
    fields: Fields = {},
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const form = new FormData();
    if (this.formToken !== "") form.set("form_token", this.formToken);
    for (const [name, value] of Object.entries(fields)) {
      for (const one of [value].flat()) form.append(name, one);
    }
    const withFile = Object.values(fields).some((value) => value instanceof File);
    const body = withFile
      ? form
      : new URLSearchParams([...form].map(([name, value]) => [name, String(value)]));
    return this.request(path, {
      method: "POST",
      body,
      headers: { accept: "text/html", origin: this.#origin, ...headers },
    });
  }

  /** Sends JSON and expects JSON, as client code does. */
  async call(method: string, path: string, body?: unknown): Promise<Response> {
    return this.fetch(path, {
      method,
      headers: {
        accept: "application/json",
        origin: this.#origin,
        "x-form-token": this.formToken,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async request(path: string, init: RequestInit): Promise<Answer> {
    const response = await this.fetch(path, init);
    const html = await response.text();
    const [, token] = /<meta name="form-token" content="(\w+)"/.exec(html) ?? [];
    if (token !== undefined) this.formToken = token;
    return {
      status: response.status,
      headers: response.headers,
      path,
      html,
      location: response.headers.get("location") ?? undefined,
    };
  }

  async fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await exports.default.fetch(
      new URL(addressIn(this.base, path), this.#origin).href,
      {
        ...init,
        headers,
        redirect: "manual",
      },
    );
    for (const set of response.headers.getSetCookie()) this.#keep(set);
    return response;
  }

  #keep(set: string): void {
    const [pair = "", ...attributes] = set.split("; ");
    const [name = "", ...value] = pair.split("=");
    if (attributes.includes("Max-Age=0")) this.cookies.delete(name);
    else this.cookies.set(name, value.join("="));
  }
}

/** Returns a user who has just signed up and has loaded a page with forms. */
export async function signedUp(): Promise<{ visitor: Visitor; username: string; email: string }> {
  const visitor = new Visitor();
  const username = unique("ann");
  const email = `${username}@example.com`;
  const { status, html } = await visitor.send("/sign-up", {
    username,
    name: "Ann",
    email,
    password: PASSWORD,
  });
  if (status !== 303) throw new Error(`sign-up answered ${status}: ${html}`);
  // This page with forms needs half as many queries as the first one.
  await visitor.look("/account");
  return { visitor, username, email };
}

/** Returns a user who has proved to hold OPERATOR_TOKEN. */
export async function signedUpOperator(operatorToken: string) {
  const person = await signedUp();
  await person.visitor.send("/set-up", { operator_token: operatorToken });
  return person;
}
