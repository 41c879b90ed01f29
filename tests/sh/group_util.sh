# Helpers of the tests of several processes; sourced after lib.sh.

# value RUN KEY: of result.json
value() { sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$1/result.json" | head -1; }

# nobody RUN: no process of this run is left; one that was killed while it wrote to a slow disk goes when that is done
nobody() {
    checks=$((checks + 1))
    tries=0
    while left=$(pgrep -f "captrain train .*--out $1( |\$)"); do
        [ $tries -lt 100 ] || { fail "process $left of $1 is left"; return; }
        sleep 0.1
        tries=$((tries + 1))
    done
}

# events RUN EVENT KEY: the values of KEY, a line each
events() { sed -n "s/^{\"event\":\"$2\".*[{,]\"$3\":\([^,}]*\)[,}].*/\1/p" "$1/metrics.jsonl" 2> /dev/null; }
