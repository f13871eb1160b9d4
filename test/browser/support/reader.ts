/** A reader who knows only the words on a page: no address, no selector. */
import type { Locator, Page } from "playwright-core";
import type { Visitor } from "./visitor.ts";

type Role = Parameters<Page["getByRole"]>[0];

/** Exactly this text, or a text that matches. */
type Words = string | RegExp;

interface Download {
  name: string;
  text: string;
}

export class Reader {
  readonly #page: Page;
  readonly #place: Page | Locator;

  /** @param address the home page, or an address that the reader was given */
  static async at(visitor: Visitor, address = "/"): Promise<Reader> {
    const { page } = visitor;
    // The reader confirms every question.
    page.on("dialog", (dialog) => dialog.accept());
    await page.goto(address);
    return new Reader(page, page);
  }

  private constructor(page: Page, place: Page | Locator) {
    this.#page = page;
    this.#place = place;
  }

  /** Returns a reader of a part of the page, such as a region, a row or a dialog. */
  in(role: Role, words: Words): Reader {
    return new Reader(this.#page, this.#place.getByRole(role, named(words)).filter(SHOWN));
  }

  /** Returns a reader of the row or list item that has these words. */
  where(role: "row" | "listitem", words: Words): Reader {
    const items = this.#place.getByRole(role).filter({ hasText: words });
    return new Reader(this.#page, items.filter(SHOWN).first());
  }

  async follow(words: Words): Promise<void> {
    await (await this.#only("link", words)).click();
  }

  async press(words: Words): Promise<void> {
    await (await this.#only("button", words)).click();
  }

  /** Opens the folded part with these words. */
  async unfold(words: Words): Promise<void> {
    await (await one(this.#place.getByText(words, { exact: true }), words)).click();
  }

  async fill(label: string, text: string): Promise<void> {
    await (await this.#field(label)).fill(text);
  }

  async choose(label: string, option: string): Promise<void> {
    await (await this.#field(label)).selectOption({ label: option });
  }

  async tick(label: string): Promise<void> {
    const name = beginning(label);
    const place = this.#place;
    const box = place.getByRole("checkbox", { name }).or(place.getByRole("radio", { name }));
    await (await one(box, label)).check();
  }

  /** Waits until the page has these words. @returns the whole text of their element */
  async reads(words: Words): Promise<string> {
    return (await shown(this.#place.getByText(words), words)).first().innerText();
  }

  /** Waits until there is an element with this role and name. @returns its text */
  async sees(role: Role, words: Words): Promise<string> {
    return (await shown(this.#place.getByRole(role, named(words)), words)).first().innerText();
  }

  /** Returns all text in this reader's place. */
  async all(): Promise<string> {
    return this.#place === this.#page
      ? this.#page.getByRole("main").innerText()
      : this.#place.locator("xpath=.").innerText();
  }

  /** Clicks the button with these words. @returns the text that it copies */
  async copy(words: Words = "Copy"): Promise<string> {
    const button = await this.#only("button", words);
    const element = await button.elementHandle();
    await button.click();
    await this.#page.waitForFunction((one) => one?.textContent === "Copied", element);
    return this.#page.evaluate(() => navigator.clipboard.readText());
  }

  async download(words: Words): Promise<Download> {
    const link = await this.#only("link", words);
    const [download] = await Promise.all([this.#page.waitForEvent("download"), link.click()]);
    const chunks: Uint8Array[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    return { name: download.suggestedFilename(), text: Buffer.concat(chunks).toString() };
  }

  type(keys: string): Promise<void> {
    return this.#page.keyboard.type(keys);
  }

  key(key: string): Promise<void> {
    return this.#page.keyboard.press(key);
  }

  #only(role: Role, words: Words): Promise<Locator> {
    return one(this.#place.getByRole(role, named(words)), words);
  }

  #field(label: string): Promise<Locator> {
    return one(this.#place.getByLabel(beginning(label)), label);
  }
}

const SHOWN = { visible: true };

/** Returns a pattern of a label that begins with the words: hints may follow, such as "optional". */
const beginning = (words: string) => new RegExp(`^${RegExp.escape(words)}(?!\\S)`);

const named = (name: Words) => ({ name, exact: true });

/** @throws when several elements have the words, because a reader could not tell which is meant */
async function one(found: Locator, words: Words): Promise<Locator> {
  const all = await shown(found, words);
  const places = await all.evaluateAll((elements) =>
    elements.map((element, n) => element.getAttribute("href") ?? String(n)),
  );
  if (new Set(places).size > 1)
    throw new Error(`"${words}" is said of ${places.length} things: ${places}`);
  return all.first();
}

/** @throws an Error with the text of the page instead */
async function shown(found: Locator, words: Words): Promise<Locator> {
  const all = found.filter(SHOWN);
  await all
    .first()
    .waitFor()
    .catch(async (cause) => {
      const said = await found.page().getByRole("main").innerText();
      throw new Error(`No "${words}" on ${found.page().url()}:\n${said}`, { cause });
    });
  return all;
}
