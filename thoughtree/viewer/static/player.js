// Playing the search: step by step, a step being a reply that was told.

class Player {
  constructor(go) {
    this.go = go;
    this.timer = null;
    const get = (id) => document.getElementById(id);
    Object.assign(this, { slider: get("step"), told: get("told"), button: get("play"), speed: get("speed") });
    get("to-start").addEventListener("click", () => this.to(0));
    get("back").addEventListener("click", () => this.to(this.run.step - 1));
    get("forward").addEventListener("click", () => this.to(this.run.step + 1));
    get("to-end").addEventListener("click", () => this.to(this.run.steps.length));
    this.button.addEventListener("click", () => this.toggle());
    this.slider.addEventListener("input", () => this.to(Number(this.slider.value)));
  }

  show(run) {
    if (this.run !== run) this.stop();
    this.run = run;
    this.slider.max = String(run.steps.length);
    this.slider.value = String(run.step);
    this.told.textContent = this.words();
    this.slider.setAttribute("aria-valuetext", this.words());
  }

  words() {
    const { run } = this, { step, steps } = run;
    if (!steps.length) return "Nothing was told: there is no step to play";
    if (!step) return `Before the first of ${counted(steps.length, "step")}`;
    const [role, nodes, said] = steps[step - 1];
    const about = nodes.length > 3 ? `${nodes.length} nodes` : nodes.map((id) => `#${id}`).join(", ");
    return `Step ${whole(step)} of ${whole(steps.length)}: ${role} ${about}: ${oneLine(said, 90)}`;
  }

  to(step) {
    this.stop();
    this.at(step);
  }

  at(step) {
    this.go(Math.max(0, Math.min(this.run.steps.length, step)));
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.run.step >= this.run.steps.length) this.at(0);
    this.button.textContent = "Pause";
    this.button.setAttribute("aria-label", "Pause");
    const rate = Number(this.speed.value);
    let due = performance.now();
    const tick = () => {
      const now = performance.now(), some = Math.floor(((now - due) * rate) / 1000);
      if (some > 0) {
        due += (some * 1000) / rate;
        this.at(this.run.step + some);
      }
      if (this.run.step >= this.run.steps.length) return this.stop();
      this.timer = requestAnimationFrame(tick);
    };
    this.timer = requestAnimationFrame(tick);
  }

  stop() {
    if (this.timer) cancelAnimationFrame(this.timer);
    this.timer = null;
    this.button.textContent = "Play";
    this.button.setAttribute("aria-label", "Play");
  }
}
