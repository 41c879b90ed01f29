dist_doc_DATA += doc/accuracy.md doc/cuda.md doc/distributed.md doc/fit-style.md doc/generator.md doc/models.md doc/monitor.md doc/performance.md doc/portability.md doc/profile.md doc/reliability.md \
	doc/slider.md doc/weights.md
EXTRA_DIST += doc/report.png doc/slider-styles.png doc/slider.png doc/text-styles.png

schemadir = $(docdir)/json
dist_schema_DATA = \
	doc/json/bench.schema.json doc/json/check.schema.json doc/json/choices.schema.json doc/json/common.schema.json \
	doc/json/compare.schema.json \
	doc/json/doctor.schema.json doc/json/eval.schema.json doc/json/metrics.schema.json doc/json/monitor.schema.json \
	doc/json/plan.schema.json doc/json/predict.schema.json doc/json/predict-line.schema.json doc/json/profile.schema.json doc/json/race.schema.json doc/json/receipt.schema.json \
	doc/json/result.schema.json doc/json/tune.schema.json

# What tables of measurements were made of.
measureddir = $(docdir)/data
dist_measured_DATA = doc/data/card-h100.csv doc/data/card-h100-classes.csv doc/data/card-h200.csv doc/data/card-h200-classes.csv doc/data/few-wilhelmy2013.csv doc/data/few-wilhelmy2013-taught.csv doc/data/race-captcha.csv doc/data/ops-cpu.csv doc/data/race-parts.csv doc/data/steps-cpu.csv

recipesdir = $(docdir)/recipes
dist_recipes_DATA = doc/recipes/few.md doc/recipes/finetune.md doc/recipes/sign-language.md
dist_examples_DATA += examples/finetune-pretrain.yaml examples/finetune.yaml
dist_examples_SCRIPTS = examples/few.sh examples/finetune.sh

# The manual page is printed by the program itself, from the tables its parser reads.
dist_man_MANS += doc/libcaptrain.3
if !CROSS_COMPILING
man_MANS += doc/captrain.1
bashcompletiondir = $(datadir)/bash-completion/completions
bashcompletion_DATA = doc/completion/captrain
zshcompletiondir = $(datadir)/zsh/site-functions
zshcompletion_DATA = doc/completion/_captrain
endif
CLEANFILES += doc/completion/captrain doc/completion/_captrain
doc/completion/captrain: captrain$(EXEEXT)
	@$(MKDIR_P) doc/completion
	$(AM_V_GEN)./captrain$(EXEEXT) completion bash > $@.tmp && mv $@.tmp $@
doc/completion/_captrain: captrain$(EXEEXT)
	@$(MKDIR_P) doc/completion
	$(AM_V_GEN)./captrain$(EXEEXT) completion zsh > $@.tmp && mv $@.tmp $@
CLEANFILES += doc/captrain.1
doc/captrain.1: captrain$(EXEEXT)
	@$(MKDIR_P) doc
	$(AM_V_GEN)./captrain$(EXEEXT) help man > $@.tmp && mv $@.tmp $@
