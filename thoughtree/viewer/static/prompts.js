// The prompts and replies of a run. Most texts are written as what differs from another one.

class Prompts {
  constructor({ texts, calls }) {
    this.texts = texts;
    this.bySteps = new Map();
    for (const call of calls) (this.bySteps.get(call.step) ?? this.bySteps.set(call.step, []).get(call.step)).push(call);
  }

  at(step) {
    return this.bySteps.get(step) ?? [];
  }

  /** The steps with a prompt or a reply that holds these words, in whatever case. */
  find(words) {
    const has = this.texts.map((_, number) => this.text(number).toLowerCase().includes(words)), found = new Set();
    for (const [step, calls] of this.bySteps) {
      if (calls.some((call) => call.messages.some(([, text]) => has[text]) || call.outputs.some((text) => has[text]))) found.add(step);
    }
    return found;
  }

  text(number) {
    const written = this.texts[number];
    if (typeof written === "string") return written;
    const [base, head, tail, middle] = written, whole = this.texts[base];
    return whole.slice(0, head) + middle + whole.slice(whole.length - tail);
  }
}
