/** Samples in Go, with nothing but its standard library. */
import { readableJson } from "../../../lib/readable-json.ts";
import type { ApiId, Input } from "./bodies.ts";
import { PATHS } from "./paths.ts";

/** What is done with the answer, and what it needs. */
interface Sample {
  imports?: string[];
  /** The file of a form, and its field. */
  file?: [field: string, name: string];
  code: string;
}

export function goSample(id: ApiId, origin: string, input: Input): string {
  // The official clients stream messages by a call of their own.
  const body = id === "messages" ? { ...input, stream: true } : input;
  const { imports = [], file, code } = SAMPLES[id](body);
  const sent = file ? formOf(body, file) : jsonOf(body);
  const needed = [
    ...new Set(["io", "log", "net/http", "os", ...sent.imports, ...imports]),
  ].toSorted();
  const headers = id === "messages" ? [["anthropic-version", '"2023-06-01"']] : [];
  return `// Go 1.18 or newer. Save as main.go, and: go run main.go
package main

import (
${needed.map((name) => `\t"${name}"\n`).join("")})

func main() {
${sent.code}
	request, err := http.NewRequest("POST", ${JSON.stringify(origin + PATHS[id])}, body)
	check(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("AUSPEX_TOKEN"))
	request.Header.Set("Content-Type", ${sent.type})
${headers.map(([name, value]) => `\trequest.Header.Set("${name}", ${value})\n`).join("")}	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(response.Body)
		log.Fatal(string(text))
	}
${code}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}`;
}

interface Sent {
  imports: string[];
  code: string;
  type: string;
}

const jsonOf = (body: Input): Sent => ({
  imports: ["strings"],
  code: `	body := strings.NewReader(${raw(body)})`,
  type: '"application/json"',
});

/** A raw string, which ends at a backtick: JSON can escape it. */
const raw = (body: Input) => `\`${escaped(readableJson(body)).replaceAll("`", "\\u0060")}\``;

function formOf(fields: Input, [field, name]: [string, string]): Sent {
  const written = Object.entries(fields).map(([key, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `	form.WriteField(${quoted(key)}, ${quoted(text)})\n`;
  });
  return {
    imports: ["bytes", "mime/multipart"],
    code: `	body := &bytes.Buffer{}
	form := multipart.NewWriter(body)
${written.join("")}	file, err := os.Open("${name}")
	check(err)
	part, err := form.CreateFormFile("${field}", "${name}")
	check(err)
	_, err = io.Copy(part, file)
	check(err)
	check(form.Close())`,
    type: "form.FormDataContentType()",
  };
}

/** As in JSON, but for what cannot be in a file: a surrogate alone, and a byte order mark. */
const quoted = (text: string) => escaped(JSON.stringify(text.toWellFormed()));

const escaped = (text: string) => text.replaceAll("\ufeff", "\\ufeff");

/** Of each line of a stream that has data. */
const eachData = (code: string) => `	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadString('\\n')
		if err == io.EOF {
			break
		}
		check(err)
${code}
	}`;

const TAG = (name: string) => `\`json:"${name}"\``;

const deltas = (type: string, text: string): Sample => ({
  imports: ["bufio", "encoding/json", "fmt", "strings"],
  code: eachData(`		var event ${type}
		data := strings.TrimPrefix(line, "data: ")
		if data != line && json.Unmarshal([]byte(data), &event) == nil {
${text}
		}`),
});

const SAVE_IMAGES = `	var result struct {
		Data []struct {
			Image []byte ${TAG("b64_json")}
		}
	}
	check(json.NewDecoder(response.Body).Decode(&result))
	for n, picture := range result.Data {
		check(os.WriteFile(fmt.Sprintf("picture-%d.png", n+1), picture.Image, 0o644))
	}`;

const SAMPLES: Record<ApiId, (body: Input) => Sample> = {
  predictions: () => ({
    imports: ["bufio", "encoding/json", "fmt", "strings"],
    code: `	name := ""
${eachData(`		field, value, _ := strings.Cut(strings.TrimRight(line, "\\n"), ": ")
		if field == "event" {
			name = value
		} else if field == "data" && name == "output" {
			show(value)
		} else if field == "data" && name == "error" {
			var failure struct{ Message string }
			check(json.Unmarshal([]byte(value), &failure))
			log.Fatal(failure.Message)
		}`)}
}

func show(value string) {
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		text = value + "\\n"
	}
	fmt.Print(text)`,
  }),
  chat: () =>
    deltas(
      `struct {
			Choices []struct{ Delta struct{ Content string } }
		}`,
      `			for _, choice := range event.Choices {
				fmt.Print(choice.Delta.Content)
			}`,
    ),
  responses: () =>
    deltas(
      `struct{ Type, Delta string }`,
      `			if event.Type == "response.output_text.delta" {
				fmt.Print(event.Delta)
			}`,
    ),
  messages: () =>
    deltas(`struct{ Delta struct{ Text string } }`, `			fmt.Print(event.Delta.Text)`),
  embeddings: () => ({
    imports: ["encoding/json", "fmt"],
    code: `	var result struct {
		Data []struct{ Embedding []float64 }
	}
	check(json.NewDecoder(response.Body).Decode(&result))
	for _, one := range result.Data {
		fmt.Println(one.Embedding)
	}`,
  }),
  images: () => ({ imports: ["encoding/json", "fmt"], code: SAVE_IMAGES }),
  edits: () => ({
    imports: ["encoding/json", "fmt"],
    file: ["image", "picture.png"],
    code: SAVE_IMAGES,
  }),
  speech: ({ response_format: format }) => ({
    code: `	sound, err := os.Create(${quoted(`speech.${format}`)})
	check(err)
	_, err = io.Copy(sound, response.Body)
	check(err)`,
  }),
  transcriptions: () => ({
    imports: ["encoding/json", "fmt"],
    file: ["file", "speech.wav"],
    code: `	var result struct{ Text string }
	check(json.NewDecoder(response.Body).Decode(&result))
	fmt.Println(result.Text)`,
  }),
};
